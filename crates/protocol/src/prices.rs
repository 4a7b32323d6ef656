//! The prices of models, and what usage costs by them. Such a cost is an estimate: only a provider knows what it charges.

mod table;

use std::fmt;
use std::str::FromStr;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use uwf_util::amount::without_noise;

use crate::nodes::Usage;

pub use table::DATE;

/// So many tokens have the price of a rate.
const TOKENS: f64 = 1e6;

/// A model by its exact name, or all models whose names begin alike: then it ends with `*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ModelPattern(String);

/// US dollars for a million tokens; zero for what is free.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rate(f64);

// A rate is always finite.
impl Eq for Rate {}

/// The price of a model as the config has it. Without `input` and `output` it cannot be used, but does not spoil the file:
/// entries are set key by key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PriceEntry {
    /// Tokens that the model reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Rate>,
    /// Tokens that it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Rate>,
    /// Tokens that it reads from a cache; as `input` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Rate>,
    /// Tokens that it reads and writes to a cache; as `input` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Rate>,
}

/// The price of a model, in US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Price {
    /// Tokens that the model reads.
    pub input: f64,
    /// Tokens that it writes.
    pub output: f64,
    /// Tokens that it reads from a cache; as `input` if absent.
    pub cache_read: Option<f64>,
    /// Tokens that it reads and writes to a cache; as `input` if absent.
    pub cache_write: Option<f64>,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PriceSource {
    /// The config.
    Config,
    /// The table that comes with the program.
    BuiltIn,
}

/// A price of the table that holds, for a view.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceRow {
    /// The models.
    pub model: ModelPattern,
    /// What they cost.
    #[serde(flatten)]
    pub price: Price,
    /// Where the price comes from.
    pub source: PriceSource,
    /// The page of the vendor that it was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<&'static str>,
}

/// All prices that hold: those of the config, and for other models those of the built-in table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prices {
    own: Vec<(ModelPattern, Price)>,
}

/// Why a text is no name of models.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name of models: it is a whole name, or its beginning with one `*` at the end"
)]
pub struct PatternError(String);

/// Why a number is no rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a price: it is a number from 0, the US dollars for a million tokens")]
pub struct RateError(String);

impl Prices {
    /// Returns the prices under a config. Entries that are not complete are left out.
    #[must_use]
    pub fn of(config: &IndexMap<ModelPattern, PriceEntry>) -> Self {
        let complete = config
            .iter()
            .filter_map(|(model, entry)| Some((model.clone(), entry.price()?)));
        Self {
            own: complete.collect(),
        }
    }

    /// Returns the price of a model. A price of the config goes before a built-in one, an exact name before a beginning,
    /// and a longer beginning before a shorter one.
    #[must_use]
    pub fn price_of(&self, model: &str) -> Option<Price> {
        let own = self.own.iter().map(|(name, price)| (name.as_str(), *price));
        best(own, model).or_else(|| best(built_in().map(|(name, one)| (name, one.price)), model))
    }

    /// Returns the usage of a model with its cost. What the agent tells goes before what is computed here. If neither is
    /// known, neither is the cost.
    ///
    /// The tokens that were written to a cache are kept if they explain the cost.
    #[must_use]
    pub fn priced(&self, usage: &Usage, model: Option<&str>) -> Usage {
        let priced = match (usage.cost_usd, model) {
            (None, Some(model)) => self
                .price_of(model)
                .and_then(|price| price.cost_of(usage))
                .map(|cost| (Some(cost), true)),
            _ => None,
        };
        let (cost_usd, cost_estimated) = priced.unwrap_or((usage.cost_usd, usage.cost_estimated));
        Usage {
            cost_usd,
            cost_estimated,
            cache_write_tokens: usage.cache_write_tokens.filter(|_| cost_estimated),
            ..usage.clone()
        }
    }

    /// Returns every price that holds for some model: those of the config, then the built-in ones.
    #[must_use]
    pub fn rows(&self) -> Vec<PriceRow> {
        let own = self.own.iter().map(|(model, price)| PriceRow {
            model: model.clone(),
            price: *price,
            source: PriceSource::Config,
            page: None,
        });
        let is_covered = |name: &str| {
            let mut own = self.own.iter();
            own.any(|(pattern, _)| covers(pattern.as_str(), name))
        };
        let others = built_in().filter(|(name, _)| !is_covered(name));
        let others = others.map(|(name, known)| PriceRow {
            model: ModelPattern(name.to_owned()),
            price: known.price,
            source: PriceSource::BuiltIn,
            page: Some(known.source),
        });
        own.chain(others).collect()
    }
}

fn built_in() -> impl Iterator<Item = (&'static str, &'static table::Known)> {
    let names_of =
        |known: &'static table::Known| known.names.iter().map(move |name| (*name, known));
    table::TABLE.iter().flat_map(names_of)
}

/// Returns the price under the name that fits a model best.
fn best<'a>(prices: impl Iterator<Item = (&'a str, Price)>, model: &str) -> Option<Price> {
    let fits = prices.filter(|(name, _)| covers(name, model));
    // A name without a star goes first, then the longest.
    let best = fits.max_by_key(|(name, _)| (!name.ends_with('*'), name.len()));
    best.map(|(_, price)| price)
}

/// Tells whether a name stands for all models that another one stands for.
fn covers(name: &str, other: &str) -> bool {
    match name.strip_suffix('*') {
        Some(beginning) => other.trim_end_matches('*').starts_with(beginning),
        None => name == other,
    }
}

impl Price {
    /// Returns what usage costs; `None` if the usage does not tell it.
    #[must_use]
    pub fn cost_of(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        // The input includes both.
        let read = usage.cached_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - read);
        let parts = [
            (input - read - written, self.input),
            (read, self.cache_read.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (output, self.output),
        ];
        #[expect(clippy::cast_precision_loss, reason = "nobody pays for so many tokens")]
        let costs = parts.map(|(tokens, rate)| tokens as f64 * rate / TOKENS);
        Some(without_noise(costs.iter().sum()))
    }
}

impl PriceEntry {
    /// The keys without which an entry cannot be used.
    pub const NEEDED: [&str; 2] = ["input", "output"];

    /// Returns the first key that is missing.
    #[must_use]
    pub fn missing(&self) -> Option<&'static str> {
        let values = [self.input, self.output];
        let mut fields = Self::NEEDED.into_iter().zip(values);
        fields.find_map(|(field, value)| value.is_none().then_some(field))
    }

    /// Returns the price; `None` if the entry is not complete.
    #[must_use]
    pub fn price(&self) -> Option<Price> {
        Some(Price {
            input: self.input?.0,
            output: self.output?.0,
            cache_read: self.cache_read.map(|rate| rate.0),
            cache_write: self.cache_write.map(|rate| rate.0),
        })
    }
}

impl ModelPattern {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ModelPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        let name = text.strip_suffix('*').unwrap_or(&text);
        match text.is_empty() || name.contains('*') {
            true => Err(PatternError(text)),
            false => Ok(Self(text)),
        }
    }
}

impl FromStr for ModelPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        text.to_owned().try_into()
    }
}

impl From<ModelPattern> for String {
    fn from(pattern: ModelPattern) -> Self {
        pattern.0
    }
}

impl fmt::Display for ModelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Rate {
    /// Returns the number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Rate {
    type Error = RateError;

    fn try_from(number: f64) -> Result<Self, RateError> {
        match number.is_finite() && number >= 0.0 {
            true => Ok(Self(number)),
            false => Err(RateError(number.to_string())),
        }
    }
}

impl FromStr for Rate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<Self, RateError> {
        let number: Option<f64> = text.trim().parse().ok();
        let rate = number.and_then(|number| Self::try_from(number).ok());
        rate.ok_or_else(|| RateError(text.to_owned()))
    }
}

impl From<Rate> for f64 {
    fn from(rate: Rate) -> Self {
        rate.0
    }
}

#[cfg(test)]
mod tests;
