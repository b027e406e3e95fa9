//! Lines of the JSON format: `{"crc32":"…","record":{…}}`, where the checksum covers what stands behind its comma.

use super::number::{Double, Plain, Single};
use super::reader::{Frame, Parsed};
use super::window::Window;
use super::{Header, LIMIT, VERSION};
use crate::store::Column;
use crate::{Click, Clickthrough, Kind, Rows, Shown};
use rankwright_event::{Field, ItemId, RankingId, SessionId, Tenant, Timestamp, UserId};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Begins every line; inside a line its quotes would be escaped.
pub(crate) const MARKER: &[u8] = b"{\"crc32\":\"";

const FORMAT: &str = "rankwright click-throughs";

/// What stands behind the checksum: one of the two.
#[derive(Serialize, Deserialize, Default)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    header: Option<HeaderLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<Box<RecordLine>>,
}

#[derive(Serialize, Deserialize)]
struct HeaderLine {
    format: String,
    version: u64,
    #[serde(default)]
    service: String,
    #[serde(default)]
    columns: Vec<ColumnLine>,
}

#[derive(Serialize, Deserialize)]
struct ColumnLine {
    name: String,
    /// Sixteen hexadecimal digits, as few tools keep integers of 64 bits.
    fingerprint: String,
}

#[derive(Serialize, Deserialize)]
struct RecordLine {
    tenant: Tenant,
    kind: Kind,
    id: RankingId,
    timestamp: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<UserId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    fields: Vec<FieldLine>,
    /// Values in a row; 0 when the record has no rows.
    width: usize,
    items: Vec<ItemLine>,
    interactions: Vec<Click>,
}

#[derive(Serialize, Deserialize)]
struct FieldLine {
    name: String,
    value: Plain,
}

#[derive(Serialize, Deserialize)]
struct ItemLine {
    id: ItemId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<Double>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    row: Vec<Single>,
}

/// The line of a part's header.
pub(crate) fn of_header(header: &Header) -> Result<Vec<u8>, String> {
    let column =
        |column: &Column| ColumnLine { name: column.name.clone(), fingerprint: format!("{:016x}", column.fingerprint) };
    let header = HeaderLine {
        format: FORMAT.into(),
        version: u64::from(VERSION),
        service: header.service.clone(),
        columns: header.columns.iter().map(column).collect(),
    };
    line(&Line { header: Some(header), record: None })
}

/// The line of a record.
pub(crate) fn of_record(record: &Clickthrough) -> Result<Vec<u8>, String> {
    line(&Line { record: Some(Box::new(RecordLine::from(record))), header: None })
}

fn line(line: &Line) -> Result<Vec<u8>, String> {
    let json = serde_json::to_vec(line).map_err(|error| error.to_string())?;
    let body = &json[1..]; // its brace is the line's
    let checksum = format!("{:08x}\",", crc32fast::hash(body));
    Ok([MARKER, checksum.as_bytes(), body, b"\n"].concat())
}

/// Where a line's body begins: behind the marker and the checksum.
const BODY: usize = MARKER.len() + 10;

/// Reads the line at the beginning of the window.
pub(crate) fn parse(window: &mut Window, header: Option<&Header>) -> std::io::Result<Parsed> {
    let Some(line) = look_line(window)? else { return Ok(Parsed::Bad("line without end", 0)) };
    let (length, whole, begun) = (line.len(), line.ends_with(b"\n"), begins(line));
    let line = line.trim_ascii_end();
    let records = u64::from(line.get(BODY..).is_some_and(|body| body.starts_with(b"\"record\":")));
    let parsed = match line {
        [] => Ok(Parsed::Frame(Frame::Records(Vec::new()), length)),
        line => checked(line).and_then(|()| read(line, header, length)),
    };
    Ok(match parsed {
        Ok(parsed) => parsed,
        Err(_) if begun && !whole => Parsed::Short(records),
        Err(reason) => Parsed::Bad(reason, records),
    })
}

/// The line at the beginning of the window with its end, or what is left; `None` when it is longer than any of ours.
fn look_line(window: &mut Window) -> std::io::Result<Option<&[u8]>> {
    let mut wanted = 1;
    let length = loop {
        let seen = window.look(wanted)?;
        if let Some(end) = seen.iter().position(|&byte| byte == b'\n') {
            break end + 1;
        }
        match seen.len() {
            held if held < wanted => break held,
            held if held > LIMIT => return Ok(None),
            held => wanted = held + 1,
        }
    };
    window.look(length).map(|seen| seen.get(..length))
}

/// Whether a line, or what a crash left of one, begins as ours do.
fn begins(line: &[u8]) -> bool {
    line.starts_with(&MARKER[..line.len().min(MARKER.len())])
}

/// Compares a line with its checksum.
fn checked(line: &[u8]) -> Result<(), &'static str> {
    let rest = line.strip_prefix(MARKER).ok_or("no record begins here")?;
    let (digits, rest) = rest.split_at_checked(8).ok_or("no checksum")?;
    let body = rest.strip_prefix(b"\",").ok_or("no checksum")?;
    let digits = str::from_utf8(digits).map_err(|_| "no checksum")?;
    let checksum = u32::from_str_radix(digits, 16).map_err(|_| "no checksum")?;
    if checksum == crc32fast::hash(body) { Ok(()) } else { Err("checksum does not match") }
}

fn read(line: &[u8], header: Option<&Header>, length: usize) -> Result<Parsed, &'static str> {
    if let Ok(Probe { header: Some(Version { version }) }) = serde_json::from_slice(line)
        && version > u64::from(VERSION)
    {
        return Ok(Parsed::Newer(version));
    }
    let line: Line = serde_json::from_slice(line).map_err(|_| "unreadable line")?;
    let frame = match (line.header, line.record, header) {
        (Some(line), _, _) => Frame::Header(line.header().ok_or("unreadable header")?),
        (_, Some(line), Some(header)) => {
            Frame::Records(vec![line.record(header.columns.len()).ok_or("rows that do not fit")?])
        }
        (_, Some(_), None) => return Err("columns unknown, as the header is damaged"),
        _ => return Err("neither header nor record"),
    };
    Ok(Parsed::Frame(frame, length))
}

/// As much of a header as every version has.
#[derive(Deserialize)]
struct Probe {
    header: Option<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
}

impl HeaderLine {
    fn header(self) -> Option<Header> {
        let column = |line: ColumnLine| {
            Some(Column { name: line.name, fingerprint: u64::from_str_radix(&line.fingerprint, 16).ok()? })
        };
        let columns: Option<Vec<Column>> = self.columns.into_iter().map(column).collect();
        (self.format == FORMAT).then_some(Header { service: self.service, columns: Arc::from(columns?) })
    }
}

impl From<&Clickthrough> for RecordLine {
    fn from(record: &Clickthrough) -> Self {
        let row = |place: usize| record.rows.row(place).iter().copied().map(Single).collect();
        let item = |(place, item): (usize, &Shown)| ItemLine {
            id: item.id.clone(),
            label: item.label.map(Double),
            row: row(place),
        };
        let field = |field: &Field| FieldLine { name: field.name.to_string(), value: Plain(field.value.clone()) };
        Self {
            tenant: record.tenant.clone(),
            kind: record.kind,
            id: record.ranking.clone(),
            timestamp: record.timestamp,
            user: record.user.clone(),
            session: record.session.clone(),
            fields: record.fields.iter().map(field).collect(),
            width: record.rows.width,
            items: record.items.iter().enumerate().map(item).collect(),
            interactions: record.interactions.clone(),
        }
    }
}

impl RecordLine {
    /// The record; `None` when its rows are not as wide as it says, or not those of `columns` columns.
    fn record(self, columns: usize) -> Option<Clickthrough> {
        let width = self.width;
        if (width != 0 && width != columns) || self.items.iter().any(|item| item.row.len() != width) {
            return None;
        }
        let values = self.items.iter().flat_map(|item| item.row.iter().map(|Single(value)| *value)).collect();
        let item = |line: ItemLine| Shown { id: line.id, label: line.label.map(|Double(label)| label) };
        Some(Clickthrough {
            tenant: self.tenant,
            kind: self.kind,
            ranking: self.id,
            timestamp: self.timestamp,
            user: self.user,
            session: self.session,
            fields: self.fields.into_iter().map(|line| Field::new(&line.name, line.value.0)).collect(),
            items: self.items.into_iter().map(item).collect(),
            rows: Rows { width, values },
            interactions: self.interactions,
        })
    }
}
