//! The classes that a user agent falls into, in the order of their columns.

macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names)] // three of the systems end in "OS": that is their name
        pub(crate) enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Names of the classes, in the order of their columns, which are named in the configuration.
            #[cfg(test)]
            pub(crate) const NAMES: &'static [&'static str] = &[$($text),+];

            /// Column of this class, from 0.
            pub(crate) const fn index(self) -> usize {
                self as usize
            }
        }
    };
}

class! {
    /// Kind of device.
    Platform {
        /// A phone, or another device that fits a hand.
        Mobile = "mobile",
        /// A desktop or laptop computer.
        Desktop = "desktop",
        /// A tablet or a reader.
        Tablet = "tablet",
    }
}

class! {
    /// Operating system.
    Os {
        /// Of iPhones and iPads.
        Ios = "ios",
        /// Android, and what is built on it.
        Android = "android",
        /// Windows of any device, phones as well.
        Windows = "windows",
        /// Any distribution.
        Linux = "linux",
        /// Of Macs; tablets that ask for desktop pages claim it too.
        MacOs = "macos",
        /// Of Chromebooks.
        ChromeOs = "chrome os",
    }
}

class! {
    /// Browser.
    Browser {
        /// Safari, and pages that applications show by its engine.
        Safari = "safari",
        /// Chrome, Chromium, and pages that applications show by its engine.
        Chrome = "chrome",
        /// Firefox.
        Firefox = "firefox",
        /// Opera.
        Opera = "opera",
        /// Internet Explorer.
        Ie = "ie",
        /// Anything else: Edge, Samsung Internet, libraries, crawlers.
        Other = "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_points_at_the_name() {
        assert_eq!(Platform::NAMES[Platform::Tablet.index()], "tablet");
        assert_eq!(Os::NAMES[Os::ChromeOs.index()], "chrome os");
        assert_eq!(Browser::NAMES[Browser::Ie.index()], "ie");
        assert_eq!((Platform::NAMES.len(), Os::NAMES.len(), Browser::NAMES.len()), (3, 6, 6));
    }

    #[test]
    fn columns_are_named_as_configurations_say() {
        use rankwright_config::feature::AgentField;
        assert_eq!(Platform::NAMES, AgentField::Platform.values());
        assert_eq!(Os::NAMES, AgentField::Os.values());
        assert_eq!(Browser::NAMES, AgentField::Browser.values());
    }
}
