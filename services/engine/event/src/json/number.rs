//! Numbers: the nearest `f64`, never infinite.

use super::cursor::Cursor;
use super::error::Fault;

/// Powers of ten that an `f64` holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// A number as it is written: `digits * 10^exponent`.
struct Decimal {
    negative: bool,
    /// All digits as an integer; `None` where they are too many.
    digits: Option<u64>,
    exponent: i32,
}

impl<'a> Cursor<'a> {
    /// Reads a number. `expected` is what it is, for messages.
    #[inline]
    pub(super) fn number(&mut self, expected: &str) -> Result<f64, Fault> {
        if !matches!(self.peek(), Some(b'-' | b'0'..=b'9')) {
            return Err(self.unexpected(expected));
        }
        let start = self.at;
        let decimal = self.decimal()?;
        match decimal.exact() {
            Some(number) => Ok(number),
            None => self.nearest(start),
        }
    }

    /// Steps over a number.
    pub(super) fn number_text(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        self.decimal()?;
        Ok(&self.text[start..self.at])
    }

    /// The number from `start` to here, whatever its length.
    fn nearest(&mut self, start: usize) -> Result<f64, Fault> {
        let number = self.text[start..self.at].parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| {
            self.at = start;
            self.unexpected("a number within the range of a double")
        })
    }

    fn decimal(&mut self) -> Result<Decimal, Fault> {
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(negative);
        let mut decimal = Decimal { negative, digits: Some(0), exponent: 0 };
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits(&mut decimal)?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            decimal.exponent = -self.digits(&mut decimal)?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            decimal.exponent = decimal.exponent.saturating_add(self.exponent()?);
        }
        Ok(decimal)
    }

    /// Appends one digit or more to a number: how many.
    #[inline]
    fn digits(&mut self, decimal: &mut Decimal) -> Result<i32, Fault> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.byte() {
            let longer = |digits: u64| digits.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
            decimal.digits = decimal.digits.and_then(longer);
            self.at += 1;
        }
        if self.at == start {
            return Err(Fault::new(self.at, "expected a digit".to_owned()));
        }
        Ok(i32::try_from(self.at - start).unwrap_or(i32::MAX))
    }

    fn exponent(&mut self) -> Result<i32, Fault> {
        let negative = self.byte() == Some(b'-');
        self.at += usize::from(matches!(self.byte(), Some(b'-' | b'+')));
        let mut exponent = Decimal { negative, digits: Some(0), exponent: 0 };
        self.digits(&mut exponent)?;
        let size = exponent.digits.and_then(|size| i32::try_from(size).ok()).unwrap_or(i32::MAX);
        Ok(if negative { -size } else { size })
    }
}

impl Decimal {
    /// The number, where one rounding makes it: both factors exact (Clinger 1990). `None` for all others.
    #[inline]
    fn exact(&self) -> Option<f64> {
        let digits = self.digits.filter(|&digits| digits <= 1 << 53)? as f64;
        let size = match usize::try_from(self.exponent) {
            Ok(up) => digits * TENS.get(up)?,
            Err(_) => digits / TENS.get(self.exponent.unsigned_abs() as usize)?,
        };
        Some(if self.negative { -size } else { size })
    }
}
