//! Events checked before they are imported.
