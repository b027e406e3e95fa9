//! Rows as Parquet: a column for each feature under its own name, missing values as nulls, compressed with Snappy.

use super::files::File;
use super::names::distinct;
use super::part::{Part, Parts};
use super::{Error, Watch};
use parquet::basic::{Compression, Repetition, Type as Physical};
use parquet::data_type::{DataType, FloatType, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use rankwright_model::Column;
use std::io::{self, Write};
use std::sync::Arc;

/// Blocks of rows in a row group: about 64 MiB of values.
const ROW_GROUP: usize = 16;
/// Names of the columns that hold categories, in the file's metadata, as JSON.
const CATEGORICAL: &str = "rankwright.categorical";

/// Writes one side.
pub(super) fn write(
    file: File,
    columns: &[Column],
    parts: &Parts<'_>,
    watch: &mut Watch<'_>,
) -> std::result::Result<(), Error> {
    let (path, to) = file.into_parts();
    let failed = |source: ParquetError| Error::Write { path: path.clone(), source: io_error(source) };
    let names = distinct(columns.iter().map(|column| column.name.clone()), &["label", "group"]);
    let mut writer = begin(to, columns, &names).map_err(failed)?;
    parts.larger(ROW_GROUP).each(|part| {
        row_group(&mut writer, &part).map_err(failed)?;
        if watch((part.row + part.groups.len()) as u64) { Ok(()) } else { Err(Error::Interrupted) }
    })?;
    let settled = writer.into_inner().map_err(failed)?.into_inner().map_err(io::IntoInnerError::into_error);
    settled.and_then(|file| file.sync_all()).map_err(|source| Error::Write { path, source })
}

fn begin<W: Write + Send>(to: W, columns: &[Column], names: &[String]) -> Result<SerializedFileWriter<W>> {
    let field = |name: &str, physical, repetition| {
        Type::primitive_type_builder(name, physical).with_repetition(repetition).build().map(Arc::new)
    };
    let mut fields = vec![
        field("label", Physical::FLOAT, Repetition::REQUIRED)?,
        field("group", Physical::INT64, Repetition::REQUIRED)?,
    ];
    for name in names {
        fields.push(field(name, Physical::FLOAT, Repetition::OPTIONAL)?);
    }
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let categorical = names.iter().zip(columns).filter(|(_, column)| column.categorical).map(|(name, _)| name.as_str());
    let categorical = serde_json::Value::from_iter(categorical).to_string();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by("rankwright".to_owned())
        .set_key_value_metadata(Some(vec![KeyValue::new(CATEGORICAL.to_owned(), categorical)]))
        .build();
    SerializedFileWriter::new(to, schema, Arc::new(properties))
}

fn row_group<W: Write + Send>(writer: &mut SerializedFileWriter<W>, part: &Part<'_>) -> Result<()> {
    let mut group = writer.next_row_group()?;
    column::<FloatType, _>(&mut group, part.labels, None)?;
    column::<Int64Type, _>(&mut group, part.groups, None)?;
    for index in 0..part.width {
        let present: Vec<i16> = part.column(index).map(|value| i16::from(!value.is_nan())).collect();
        let values: Vec<f32> = part.column(index).filter(|value| !value.is_nan()).collect();
        column::<FloatType, _>(&mut group, &values, Some(&present))?;
    }
    group.close().map(drop)
}

/// The next column of a row group, with 1 for each row that has a value where some have none.
fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<()> {
    let next = group.next_column()?;
    let mut column = next.ok_or_else(|| ParquetError::General("the schema has fewer columns".to_owned()))?;
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}

/// What went wrong below, as far as the library tells it.
fn io_error(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(source) => io::Error::other(source),
        },
        error => io::Error::other(error),
    }
}
