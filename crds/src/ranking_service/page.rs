//! `rank.page`: the page for browsers that rank servers have.

use super::rank::HOST;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The page for browsers.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Whether rank servers have it.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Newest rank requests that each server keeps in memory for it, of each model; 0 keeps none.
    #[serde(default = "hundred")]
    #[schemars(range(min = 0, max = 1000))]
    pub sample: i32,
    /// Whether those requests show the ids of visitors.
    #[serde(default)]
    pub show_ids: bool,
    /// Item fields that it shows beside ids. The state keeps them from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<PageItem>,
    /// Where pictures of items may come from, such as https://cdn.shop.example. Default: nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 16), inner(length(min = 1, max = 253)))]
    pub image_origins: Vec<String>,
    /// An Ingress for the page and its calls alone. Needs rank.tokenSecretRef.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<PageIngress>,
}

/// Names of item fields.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
pub struct PageItem {
    /// What the item is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub title: Option<String>,
    /// What it costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub price: Option<String>,
    /// The address of its picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub image: Option<String>,
}

/// An Ingress for the page.
#[derive(KubeSchema, Serialize, Deserialize, Debug, Clone, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PageIngress {
    /// The host name that it answers for, another one than that of rank.ingress.
    #[schemars(length(min = 1, max = 253), regex(pattern = HOST))]
    pub host: String,
    /// Its class. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub ingress_class_name: Option<String>,
    /// A Secret with its certificate. Without one, the token crosses the network in clear text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub tls_secret_name: Option<String>,
    /// Its annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    pub annotations: BTreeMap<String, String>,
}

impl Page {
    /// The Ingress that it has while it is on.
    pub fn way_in(&self) -> Option<&PageIngress> {
        self.ingress.as_ref().filter(|_| self.enabled)
    }
}

fn yes() -> bool {
    true
}

fn hundred() -> i32 {
    100
}
