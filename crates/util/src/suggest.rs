//! "Did you mean …": the known word that is nearest to a mistyped one.

/// Returns the candidate that the word was most likely meant to be, if one is near enough.
///
/// Near enough is a Jaro-Winkler similarity above 0.75, or a word that differs by upper and lower case only. The one that takes
/// the fewest edits wins, and the first of equally near candidates. Case counts only between those.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let ranked = candidates.into_iter().filter_map(|candidate| {
        let candidate_lower = candidate.to_lowercase();
        let is_near = candidate_lower == lower || strsim::jaro_winkler(word, candidate) > 0.75;
        let edits = (
            strsim::damerau_levenshtein(&lower, &candidate_lower),
            strsim::damerau_levenshtein(word, candidate),
        );
        is_near.then_some((edits, candidate))
    });
    let best = ranked.min_by_key(|(edits, _)| *edits);
    best.map(|(_, candidate)| candidate)
}

/// Returns `, did you mean …?` to go on with a message about the word; empty if no candidate is near enough.
#[must_use]
pub fn question<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_word() {
        let words = ["goal", "procedure", "capabilities"];
        assert_eq!(nearest("procedur", words), Some("procedure"));
        assert_eq!(nearest("gaol", words), Some("goal"));
        assert_eq!(nearest("zzz", words), None);
        assert_eq!(question("gaol", words), ", did you mean `goal`?");
        assert_eq!(question("zzz", words), "");
        let keywords = ["properties", "items", "propertyNames", "minProperties"];
        for slip in [
            "property",
            "propertys",
            "Properties",
            "PROPERTIES",
            "propertie",
        ] {
            assert_eq!(nearest(slip, keywords), Some("properties"), "{slip}");
        }
        assert_eq!(nearest("propertyName", keywords), Some("propertyNames"));
    }
}
