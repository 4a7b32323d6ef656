//! Mutations of known inputs, as if by chance, and the same for the same seed.

/// Pieces that parsers look at.
const WORDS: [&str; 24] = [
    "---\n",
    "{{",
    "}}",
    "{{#a}}",
    "{{/a}}",
    "$status",
    ": ",
    "- ",
    "\n",
    "\r\n",
    "  ",
    "\"",
    "'",
    "`",
    "{",
    "}",
    "[",
    "]",
    "&x ",
    "*x",
    "!include ",
    "data: ",
    "\u{feff}",
    "é",
];

/// Numbers as if by chance.
pub struct Chance {
    state: u64,
}

impl Chance {
    /// Begins with a seed other than 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns a number below the limit, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or(0) % limit
    }

    /// Returns one of the inputs with some changes.
    pub fn mutated(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut data = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(6) {
            self.change(&mut data, inputs);
        }
        data
    }

    fn change(&mut self, data: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let start = self.below(data.len() + 1);
        let end = (start + self.below(16)).min(data.len());
        match self.below(6) {
            0 if start < data.len() => data[start] = u8::try_from(self.below(256)).unwrap_or(0),
            0 | 1 => drop(data.drain(start..end)),
            2 => {
                let word = WORDS[self.below(WORDS.len())];
                insert(data, start, word.as_bytes());
            }
            3 => {
                let copied = data[start..end].to_vec();
                let at = self.below(data.len() + 1);
                insert(data, at, &copied);
            }
            // Seldom: what is cut off is seldom missed by a parser.
            4 if self.below(8) == 0 => data.truncate(start),
            _ => {
                let other = &inputs[self.below(inputs.len())];
                let from = self.below(other.len() + 1);
                let to = (from + self.below(64)).min(other.len());
                insert(data, start, &other[from..to]);
            }
        }
    }
}

fn insert(data: &mut Vec<u8>, at: usize, piece: &[u8]) {
    data.splice(at..at, piece.iter().copied());
}
