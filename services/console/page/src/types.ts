// What the service answers, as far as the page uses it. /openapi.json describes all of it.

export interface Page {
  title: string;
  version: string;
  item: { title?: string | null; price?: string | null; image?: string | null } | null;
  imageOrigins: string[];
  sample: number;
  showIds: boolean;
  tokenNeeded: boolean;
  /** Why this process does not forget items and visitors. */
  forgetUnavailable: string | null;
}

export interface Field {
  name: string;
  value: unknown;
}

export interface RankRequest {
  id: string;
  timestamp: string | number;
  tenant?: string | null;
  user?: string | null;
  session?: string | null;
  fields?: Field[] | null;
  items: { id: string; fields?: Field[] | null }[];
}

export interface Sampled {
  number: number;
  time: number;
  model: string;
  items: number;
  took: number;
  fallback: string | null;
  /** What the visitor chose, of a list that an evaluation found. */
  relevant: string[] | null;
  request: RankRequest;
}

/** A number of a feature with one column, else a list; null is a missing value. */
export type Values = number | null | (number | null)[];

export interface Scored {
  item: string;
  score: number;
  features?: { name: string; value: Values }[];
  /** `time` is when the newest stored value came that the feature read. */
  contributions?: { name: string; value: number; time?: number }[];
  bias?: number;
}

export interface RankAnswer {
  took: number;
  items: Scored[];
  fallback?: string | null;
  unexplained?: string | null;
}

export interface RecommendAnswer {
  took: number;
  items: { item: string; score: number }[];
  fallback?: string | null;
}

export interface ModelStatus {
  type: string;
  state: "loaded" | "missing";
  reason?: string;
  version?: string | null;
  trainedAt?: string | null;
  metrics?: Record<string, number | null>;
  versions?: string[] | null;
  lost?: boolean;
  refused?: { version: string; reason: string } | null;
}

export interface Status {
  version: string;
  phase: string;
  unready?: string | null;
  uptimeSeconds: number;
  models: Record<string, ModelStatus>;
  inference?: Record<string, { type: string; dim?: number | null }>;
  store: {
    type: string;
    durable?: boolean;
    answers: boolean;
    problem: string | null;
    entities?: number | null;
    emptied?: boolean;
  };
  /** Imports and trainings of this process that are under way. */
  work?: Task[];
  /** Of a state that processes share. */
  writers?: { writer: string; watermark: string | null; ended: boolean; seen: string }[];
  ingest?: {
    events: Record<string, number>;
    openRankings: number;
    outbox: number;
    clickthroughs: number;
    evictedRankings: number;
    unknownRankings: { interactions: number; share: number | null; examples?: string[] };
    problem: string | null;
  };
  stream?: {
    partitions: Record<string, { lagEvents: number | null; lagSeconds: number | null; unreadable: number; events: number }>;
  };
  size?: {
    bytes: number | null;
    keys: number | null;
    features: Record<string, { bytes: number; share: number; values: number }>;
    other?: Record<string, { bytes: number; share: number; values: number }>;
    problem: string | null;
    forecast?: { bytesPerDay: number | null; fullInDays: number | null; reason?: string | null };
  };
}

export interface Task {
  kind: "import" | "training";
  model: string | null;
  began: number;
  /** That an import has read so far. */
  events: number | null;
}

export interface TrainAnswer {
  features: { name: string; gain?: number; weight?: number }[];
  iterations: { metrics?: Record<string, number | null> }[];
  sizeBytes: number;
  warnings?: string[];
}

export interface ModelVersion {
  version: string;
  trained: number;
  metrics: Record<string, number | null>;
  /** Those with most gain first. */
  features: { name: string; gain: number | null }[];
  data: { rankings: number; items: number; first: number | null; last: number | null; tested: number | null } | null;
  settings: Record<string, string>;
  trees: number;
  bytes: number;
  /** The version in whose place it came. */
  replaced: string | null;
  /** How its metric went; some of the rounds stand for all. */
  curve: { metric: string; rounds: { round: number; test: number | null; train: number | null }[] } | null;
  /** Why its gate let it pass. */
  gate: { reason: string; message: string } | null;
}

export interface ModelFeatures {
  model: string;
  version: string | null;
  /** Requests of now that were looked at. */
  requests: number;
  items: number;
  problem: string | null;
  features: { name: string; columns: FeatureColumn[] }[];
}

export interface FeatureColumn {
  name: string;
  categorical: boolean;
  gain: number | null;
  training: ValueSpread | null;
  /** In the bins of training, where that is known. */
  now: ValueSpread | null;
}

export interface ValueSpread {
  missing: number;
  /** Shares of the items with a value. */
  bins: { from: number; to: number; share: number }[];
}

export interface Model {
  name: string;
  kind: string;
  /** The version that answers here. */
  serving: string | null;
  /** The version that is to answer everywhere. */
  current: string | null;
  /** The version that the configuration names. */
  pinned: string | null;
  /** From the oldest on. */
  versions: ModelVersion[];
  /** Versions that cannot be read. */
  damaged: string[];
  /** The newest version that its gate refused, unless one was trained since. */
  refused: { trained: number; reason: string; message: string } | null;
}

/** The answer to a promotion, and to a step back. */
export interface Promoted {
  version: string;
  serving: string | null;
  pinned: string | null;
}

export interface Stored {
  id: string;
  /** Of ids of items, `times` says when each came. */
  values: { name: string; features: string[]; value: unknown; time: number | null; times?: number[] }[];
  bytes: number;
}

export interface Forgotten {
  removed: string[];
  left: string[];
}

export interface Configuration {
  configuration: unknown;
  /** Paths of what its text leaves out; one of a mapping stands for all of it. */
  defaults: string[];
  /** Paths of what variables of the environment say, with their names. */
  environment: Record<string, string>;
  warnings: string[];
}

export interface ItemFields {
  title: string | null;
  price: string | null;
  image: string | null;
}

/** What is compared: models, or `MODEL@VERSION`; none stands for all. */
export interface Compared {
  models: string[];
  by: string | null;
}

export interface Evaluations {
  /** Why nothing can be compared. */
  unavailable: string | null;
  running: { compared: Compared; began: number; rankings: number } | null;
  last: { compared: Compared; began: number; ended: number; problem: string | null; report: Report | null } | null;
}

/** A figure with its 95 % interval. */
export interface Figure {
  value: number | null;
  low: number | null;
  high: number | null;
}

export interface Score extends Figure {
  metric: string;
  ranker: string;
  weighted: Figure | null;
}

export interface WorstList {
  ranking: string;
  tenant: string;
  time: string;
  items: number;
  relevant: number;
  value: number | null;
  shown: number | null;
  segment?: string;
}

export interface Report {
  model: string;
  split: string;
  lists: { train: number; test: number; visitors: number; from: string | null; to: string | null };
  metrics: string[];
  rankers: { name: string; kind: "model" | "shown" | "random"; version?: string }[];
  scores: Score[];
  differences: (Score & { than: string })[];
  weighted: { curve: { estimatedFrom: string; points: { position: number; examination: number | null; low: number | null; high: number | null; shown: number; clicks: number }[] } | null; unavailable: string | null };
  segments: { field: string; others: number; segments: { value: string | null; lists: number; visitors: number; scores: Score[] }[] } | null;
  worst: { ranker: string; lists: WorstList[] }[];
  notes: string[];
}
