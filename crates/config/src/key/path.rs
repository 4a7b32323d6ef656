//! Splitting a dotted key at its dots: what each part names, and what the value must be.

use uwf_protocol::limits::Limits;
use uwf_protocol::prices::ModelPattern;

use super::{Fields, Kind, PRICE, Shape, TOP, listed, unknown, variable_problem};

/// Splits a dotted key. The name in the middle may have dots of its own.
pub(super) fn parse_path(key: &str) -> Result<(Vec<&str>, Kind), String> {
    let (top, rest) = match key.split_once('.') {
        Some((top, rest)) => (top, Some(rest)),
        None => (key, None),
    };
    let Some((_, shape)) = TOP.iter().find(|(name, _)| *name == top) else {
        return Err(unknown(top, TOP.iter().map(|(name, _)| *name)));
    };
    let (path, kind) = match (shape, rest) {
        (Shape::Value(kind), None) => (vec![top], *kind),
        (Shape::Value(_), Some(_)) => return Err(format!("`{top}` is a text and has no keys")),
        (Shape::Purposes(known), Some(purpose)) if known.contains(&purpose) => {
            (vec![top, purpose], Kind::Text)
        }
        (Shape::Purposes(known), Some(purpose)) => {
            return Err(unknown(purpose, known.iter().copied()));
        }
        (Shape::Purposes(known), None) => {
            let known = listed(known.iter().copied());
            return Err(format!(
                "incomplete: `{top}.<purpose>`, where the purpose is one of {known}"
            ));
        }
        (Shape::Section(fields), Some(field)) => (vec![top, field], kind_of(field, fields)?),
        (Shape::Section(fields), None) => {
            let fields = listed(fields.iter().map(|(field, _)| *field));
            return Err(format!(
                "incomplete: `{top}.<field>`, where the field is one of {fields}"
            ));
        }
        (Shape::Limits, Some(limit)) => (limit_path(top, limit)?, Kind::Limit),
        (Shape::Limits, None) => {
            let limits = listed(Limits::KEYS.into_iter());
            return Err(format!(
                "incomplete: `{top}.<limit>`, where the limit is one of {limits}"
            ));
        }
        (Shape::MapOfMaps(kind), rest) => match rest.and_then(|rest| rest.split_once('.')) {
            Some((workflow, role)) => (vec![top, workflow, role], *kind),
            None => return Err(format!("incomplete: `{top}.<workflow>.<role>`")),
        },
        (Shape::Known(names, fields), rest) => known_path(top, names, fields, rest)?,
        (Shape::Prices, rest) => {
            let path = entry_path(top, "model", PRICE, rest)?;
            let name: Result<ModelPattern, _> = path.0[1].parse();
            name.map_err(|error| error.to_string())?;
            path
        }
        (Shape::Entries(fields), rest) => entry_path(top, "name", fields, rest)?,
    };
    if path.iter().any(|segment| segment.is_empty()) {
        return Err("a part of it is empty".to_owned());
    }
    Ok((path, kind))
}

/// Parses what follows a top-level key whose entries have names that the user chooses.
fn entry_path<'a>(
    top: &'a str,
    placeholder: &str,
    fields: Fields,
    rest: Option<&'a str>,
) -> Result<(Vec<&'a str>, Kind), String> {
    if let Some(rest) = rest {
        let fields_of_entry = fields;
        for (group, fields) in groups(fields) {
            let middle = format!(".{group}.");
            if let Some((name, field)) = rest.rsplit_once(&middle)
                && !field.contains('.')
                && !fields_of_entry.iter().any(|(known, _)| *known == field)
            {
                let group = &rest[name.len() + 1..][..group.len()];
                return Ok((vec![top, name, group, field], kind_of(field, fields)?));
            }
        }
    }
    match rest.and_then(|rest| rest.rsplit_once('.')) {
        Some((entry, last)) if let Some((name, field)) = variables_of(entry, fields) => {
            match variable_problem(last) {
                Some(problem) => Err(problem),
                None => Ok((vec![top, name, field, last], Kind::VariableValue)),
            }
        }
        Some((name, field)) => {
            let kind = kind_of(field, fields)?;
            match kind {
                Kind::Group(fields) => Err(format!(
                    "incomplete: `{top}.{name}.{field}.<field>`, where the field is one of {}",
                    listed(fields.iter().map(|(field, _)| *field))
                )),
                _ => Ok((vec![top, name, field], kind)),
            }
        }
        None => {
            let fields = listed(fields.iter().map(|(field, _)| *field));
            Err(format!(
                "incomplete: `{top}.<{placeholder}>.<field>`, where the field is one of {fields}"
            ))
        }
    }
}

/// Splits `<name>.<field>` if the field has variables of its own.
fn variables_of(entry: &str, fields: Fields) -> Option<(&str, &str)> {
    let (name, last) = entry.rsplit_once('.')?;
    let has_variables =
        |(field, kind): &&(&str, Kind)| *field == last && matches!(kind, Kind::Variables);
    fields.iter().find(has_variables).map(|_| (name, last))
}

/// Returns the fields that are mappings, with the fields in them.
fn groups(fields: Fields) -> impl Iterator<Item = (&'static str, Fields)> {
    fields.iter().filter_map(|(name, kind)| match kind {
        Kind::Group(fields) => Some((*name, *fields)),
        _ => None,
    })
}

/// Parses what follows a top-level key whose entries have known names.
fn known_path<'a>(
    top: &'a str,
    names: &[&str],
    fields: Fields,
    rest: Option<&'a str>,
) -> Result<(Vec<&'a str>, Kind), String> {
    match rest.and_then(|rest| rest.split_once('.')) {
        Some((name, field)) if names.contains(&name) => {
            Ok((vec![top, name, field], kind_of(field, fields)?))
        }
        Some((name, _)) => Err(unknown(name, names.iter().copied())),
        None => {
            let names = listed(names.iter().copied());
            Err(format!(
                "incomplete: `{top}.<event>.<field>`, where the event is one of {names}"
            ))
        }
    }
}

fn limit_path<'a>(top: &'a str, limit: &'a str) -> Result<Vec<&'a str>, String> {
    match limit.split_once('.') {
        Some(("maxVisits", role)) => Ok(vec![top, "maxVisits", role]),
        _ if Limits::KEYS.contains(&limit) => Ok(vec![top, limit]),
        _ => Err(unknown(limit, Limits::KEYS.into_iter())),
    }
}

fn kind_of(field: &str, fields: Fields) -> Result<Kind, String> {
    let known = fields.iter().find(|(name, _)| *name == field);
    known
        .map(|(_, kind)| *kind)
        .ok_or_else(|| unknown(field, fields.iter().map(|(name, _)| *name)))
}
