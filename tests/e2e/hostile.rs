//! A workflow in which every text is hostile.

/// Returns the text as YAML between double quotes, with escapes for all that is not plain.
pub(crate) fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        ' '..='~' if c != '"' && c != '\\' => c.to_string(),
        c => format!("\\u{:04x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Returns a workflow whose one role comes again until it is done. All its texts are this one.
pub(crate) fn workflow(text: &str) -> String {
    let hostile = quoted(text);
    format!(
        r#"
name: hostile
description: {hostile}
roles:
  asker:
    description: {hostile}
    goal: {hostile}
    capabilities: []
    procedure: {hostile}
    output: {hostile}
    frontmatter:
      type: object
      properties: {{ $status: {{ enum: [again, done] }}, text: {{ type: string }} }}
      required: [$status, text]
graph:
  $START: {{ _: {{ role: asker, prompt: {hostile} }} }}
  asker:
    again: {{ role: asker, prompt: "{{{{text}}}}" }}
    done: {{ role: $END }}
"#
    )
}
