//! What one scrape said.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::harness::Running;
use crate::http::Request;

/// The classic text format, taken apart.
pub struct Scrape {
    pub types: BTreeMap<String, String>,
    pub help: BTreeMap<String, String>,
    values: BTreeMap<String, String>,
}

impl Scrape {
    /// Of this gateway, now.
    pub fn of(gateway: &Running) -> Self {
        let reply = gateway.ask_admin(&Request::get("/metrics"));
        assert_eq!(reply.status, 200);
        Self::read(&reply.text())
    }

    pub fn read(text: &str) -> Self {
        let mut scrape = Self {
            types: BTreeMap::new(),
            help: BTreeMap::new(),
            values: BTreeMap::new(),
        };
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let (word, rest) = comment.split_once(' ').unwrap();
                let (name, text) = rest.split_once(' ').unwrap();
                let of_name = match word {
                    "HELP" => &mut scrape.help,
                    "TYPE" => &mut scrape.types,
                    _ => panic!("{line}"),
                };
                let before = of_name.insert(name.to_owned(), text.to_owned());
                assert_eq!(before, None, "{line} twice");
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let before = (scrape.values).insert(series.to_owned(), value.to_owned());
                assert_eq!(before, None, "{line} twice");
            }
        }
        assert!(scrape.values.len() > 80, "{text}");
        scrape
    }

    /// One series by its whole name.
    #[track_caller]
    pub fn value(&self, series: &str) -> f64 {
        self.text(series).parse().expect(series)
    }

    /// The same, of what is counted.
    #[track_caller]
    pub fn count(&self, series: &str) -> u64 {
        self.text(series).parse().expect(series)
    }

    #[track_caller]
    fn text(&self, series: &str) -> &str {
        self.values.get(series).expect(series)
    }

    /// All series of this metric.
    pub fn series(&self, name: &str) -> BTreeMap<String, String> {
        let is_of = |series: &str| {
            let rest = series.strip_prefix(name);
            rest.is_some_and(|rest| {
                ["", "{", "_bucket{", "_sum", "_count"]
                    .iter()
                    .any(|end| rest == *end || (end.ends_with('{') && rest.starts_with(end)))
            })
        };
        let all = self.values.iter();
        all.filter(|(series, _)| is_of(series))
            .map(|(series, value)| (series.clone(), value.clone()))
            .collect()
    }

    /// What is not 0 of a metric with one label, by the label's value.
    pub fn by_label(&self, name: &str) -> BTreeMap<String, u64> {
        let series = self.series(name).into_iter();
        series
            .map(|(series, value)| {
                let word = series.split('"').nth(1).unwrap().to_owned();
                (word, value.parse().unwrap())
            })
            .filter(|(_, value)| *value > 0)
            .collect()
    }
}

/// What is not 0 of an object of numbers.
pub fn above_zero(object: &Value) -> BTreeMap<String, u64> {
    let numbers = object.as_object().unwrap().iter();
    numbers
        .map(|(word, number)| (word.clone(), number.as_u64().unwrap()))
        .filter(|(_, number)| *number > 0)
        .collect()
}

/// The same, as expected.
pub fn expected(numbers: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let numbers = numbers.iter();
    numbers.map(|(word, n)| ((*word).to_owned(), *n)).collect()
}
