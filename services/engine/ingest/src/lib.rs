//! ingest.
