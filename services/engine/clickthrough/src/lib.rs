//! clickthrough.
