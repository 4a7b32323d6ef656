//! "Did you mean …": the known word that is nearest to a mistyped one.

/// Returns the candidate that the word was most likely meant to be, if one is near enough.
///
/// Near enough is a Jaro-Winkler similarity above 0.75; the first of equally near candidates wins.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut best: Option<(f64, &str)> = None;
    for candidate in candidates {
        let similarity = strsim::jaro_winkler(word, candidate);
        if similarity > best.map_or(0.75, |(score, _)| score) {
            best = Some((similarity, candidate));
        }
    }
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
    }
}
