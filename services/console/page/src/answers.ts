// Written by types.mjs from /openapi.json.

/** What was asked of a cache. */
export type CacheStatus = {
  hits: number;
  misses: number;
};

/** A number for a feature of one column, else a list; null is a missing value. */
export type ColumnValues = number | null | (number | null)[];

/** What is compared. Another type than that of requests, where both keys may be left out. */
export type ComparedModels = {
  by: string | null;
  models: string[];
};

/** What the service was started with. */
export type Configuration = {
  /** The configuration as it was loaded, with defaults. Every password, token and key is `hidden`. */
  configuration: unknown;
  /** Paths of what its text leaves out, such as `api.port` and `features[0].ttl`; one of a mapping stands for all of it. */
  defaults: string[];
  /** Paths of what comes from variables of the environment, with their names. */
  environment: Record<string, string>;
  /** What was warned of when it was read. */
  warnings: string[];
};

export type Contribution = {
  name: string;
  /** When the newest stored value came that the feature read, in milliseconds since 1970; absent where it read none. */
  time?: number;
  value: number;
};

export type CurveRound = {
  /** From 1. */
  round: number;
  /** On the lists that it was tested on; null where none has a relevant item. */
  test: number | null;
  /** On the lists that it learned from. */
  train: number | null;
};

export type Data = {
  /** In milliseconds since 1970. */
  first: number | null;
  items: number;
  last: number | null;
  rankings: number;
  tested: number | null;
};

export type EndedEvaluation = {
  /** In milliseconds since 1970. */
  began: number;
  compared: ComparedModels;
  ended: number;
  /** Why there is no report. */
  problem: string | null;
  report: unknown;
};

/** A metric of an order, less that of another one. */
export type EvaluatedDifference = {
  /** The upper end. */
  high: number | null;
  /** The lower end; `None` where there are too few visitors. */
  low: number | null;
  /** Its name. */
  metric: string;
  /** Name of the order. */
  ranker: string;
  /** Name of the other one. */
  than: string;
  /** The figure. */
  value: number | null;
  /** Clicks count by the inverse of the examination of their positions. */
  weighted: EvaluatedFigure | null;
};

/** A figure, and where 95 % of such figures lie. */
export type EvaluatedFigure = {
  /** The upper end. */
  high: number | null;
  /** The lower end; `None` where there are too few visitors. */
  low: number | null;
  /** The figure. */
  value: number | null;
};

/** The lists of a comparison. */
export type EvaluatedLists = {
  /** Time of the first one. */
  from: string | null;
  /** Their items, all together. */
  items: number;
  /** Lists that are tested on. */
  test: number;
  /** Time of the last one. */
  to: string | null;
  /** Lists of the train side. */
  train: number;
  /** Their visitors. */
  visitors: number;
  /** Lists of both sides that are left out because no item is relevant. */
  withoutRelevant: number;
};

/** One order. */
export type EvaluatedOrder = {
  /** What it is. */
  kind: OrderKind;
  /** What it is called in all that follows. */
  name: string;
  /** Of a trained model. */
  version?: string;
};

/** A metric of an order. */
export type EvaluatedScore = {
  /** The upper end. */
  high: number | null;
  /** The lower end; `None` where there are too few visitors. */
  low: number | null;
  /** Its name. */
  metric: string;
  /** Name of the order. */
  ranker: string;
  /** The figure. */
  value: number | null;
  /** Clicks count by the inverse of the examination of their positions; `None` where that is not known. */
  weighted: EvaluatedFigure | null;
};

/** The lists with one value. */
export type EvaluatedSegment = {
  /** As of all lists. */
  differences: EvaluatedDifference[];
  /** As of all lists. */
  effectiveLists: number | null;
  /** How many lists. */
  lists: number;
  /** As of all lists. */
  scores: EvaluatedScore[];
  /** The value; `None` of lists without the field. */
  value: string | null;
  /** Of how many visitors. */
  visitors: number;
};

/** The lists by value of a ranking field. */
export type EvaluatedSegments = {
  /** Name of the field. */
  field: string;
  /** Further values, which are not shown. */
  others: number;
  /** Values with the most lists first. */
  segments: EvaluatedSegment[];
};

/** How clicks are weighted. */
export type EvaluatedWeighting = {
  /** How often each position is looked at. */
  curve: ExaminationCurve | null;
  /** Number of lists of equal weight that would say as much. */
  effectiveLists: number | null;
  /** Why there is no curve. */
  unavailable: string | null;
};

/** A comparison of several orders. */
export type EvaluationReport = {
  /** Each metric of each two orders but `random`, one less the other. */
  differences: EvaluatedDifference[];
  /** What the orders are compared on. */
  lists: EvaluatedLists;
  /** Names of the metrics. */
  metrics: string[];
  /** The model whose split, labels and metrics are used. */
  model: string;
  /** What to know before the figures are believed. */
  notes: string[];
  /** The orders: models, `shown` and `random`. */
  rankers: EvaluatedOrder[];
  /** How often visitors were drawn for intervals. */
  resamples: number;
  /** Each metric of each order. */
  scores: EvaluatedScore[];
  /** Seed of these draws. */
  seed: number;
  /** The same by value of a ranking field. */
  segments: EvaluatedSegments | null;
  /** How train and test are parted. */
  split: string;
  /** How clicks are weighted. */
  weighted: EvaluatedWeighting;
  /** The lists that each model ranks worst. */
  worst: WorstLists[];
};

/** How evaluations are doing. */
export type Evaluations = {
  /** The last one that ended since the service was started. */
  last: EndedEvaluation | null;
  /** The evaluation that runs. */
  running: RunningEvaluation | null;
  /** Why nothing can be compared here. */
  unavailable: string | null;
};

/** How often each position is looked at. */
export type ExaminationCurve = {
  /** Items that stood at several positions (of lists in random order, lengths of lists). */
  compared: number;
  /** The same in a sentence. */
  estimatedFrom: string;
  /** What it was estimated from. */
  method: ExaminationMethod;
  /** The positions, from the first one. */
  points: ExaminationPoint[];
};

/** What tells the examination of positions apart from the appeal of items. */
export type ExaminationMethod = "randomized" | "rankers" | "items";

/** One position. */
export type ExaminationPoint = {
  /** How many of them were clicked. */
  clicks: number;
  /** How often it is looked at: 1 for the first position. */
  examination: number | null;
  /** The upper end of it. */
  high: number | null;
  /** Where 95 % of such estimates lie; `None` where there are too few clicks. */
  low: number | null;
  /** From 1. */
  position: number;
  /** How many items stood there. */
  shown: number;
};

export type FeatureColumn = {
  /** Whether its numbers are categories, from 1 on; 0 is none of them. */
  categorical: boolean;
  /** Of all trees of the version. */
  gain: number | null;
  name: string;
  /** In the newest rank requests, in the same bins; null where there are none, and of a column that training does not tell of. */
  now: ValueSpread | null;
  /** In the lists that the version learned from; null where the version does not tell. */
  training: ValueSpread | null;
};

/** How much a feature contributes. */
export type FeatureGain = {
  /** Name of the feature. */
  name: string;
  /** Total gain of the splits on it. */
  weight: FeatureWeight;
};

export type FeatureValue = {
  name: string;
  value: ColumnValues;
};

/** A number for a feature of one column, else a list with one for each. */
export type FeatureWeight = number | number[];

/** What was removed, and what was not. */
export type Forgotten = {
  /** In words; it is to be begun again then. */
  left: string[];
  /** In words. */
  removed: string[];
};

export type Gain = {
  gain: number | null;
  name: string;
};

/** What a gate decided. */
export type GateDecision = {
  message: string;
  /** In a word, such as `NotWorse`. */
  reason: string;
};

/** A version that its gate refused. */
export type GateRefusal = {
  message: string;
  /** In a word, such as `NotWorse`. */
  reason: string;
  /** When it was trained, in milliseconds since 1970. */
  trained: number;
};

/** One round of boosting. */
export type Iteration = {
  /** Number of the round, from 0. */
  id: number;
  /** How long it took, evaluation included. */
  millis: number;
  /** NDCG at the cutoff on the test split; null where no list has a relevant item. */
  testMetric: number | null;
  /** NDCG at the cutoff on the train split; null where no list has a relevant item. */
  trainMetric: number | null;
};

export type LearningCurve = {
  /** Such as `NDCG@10`. */
  metric: string;
  /** Some of the rounds, with the last one and the one that the version ends with. */
  rounds: CurveRound[];
};

export type ModelFeature = {
  columns: FeatureColumn[];
  name: string;
};

/** What the features of a model hold, in training and now. */
export type ModelFeatures = {
  /** In the order of the model. */
  features: ModelFeature[];
  /** Their items that were looked at: of a long list at most 50, spread evenly. */
  items: number;
  model: string;
  /** Why no more were looked at, where the values of one could not be had. */
  problem: string | null;
  /** How many of the newest rank requests were looked at: of the model, or of all where it has none. */
  requests: number;
  /** Names of the models that these are for. */
  requestsOf: string[];
  /** The version that answers. */
  version: string | null;
};

/** What a model is for. */
export type ModelPurpose = "order" | "learnedOrder" | "popular" | "similar";

/** A model, and what of it answers. */
export type ModelStatus = {
  /** A version answers that is in memory alone: where versions are kept, none is left. */
  lost?: true;
  purpose: ModelPurpose;
  /** A version that should answer, and does not. */
  refused?: Refused;
  /** As the configuration says. */
  type: string;
  /** Versions that there are, from the oldest on. */
  versions?: string[];
  state: "loaded" | "missing";
  /** Metrics of its training, by name. */
  metrics?: Record<string, number | null>;
  /** When it was trained, as RFC 3339. */
  trainedAt?: string;
  /** Its identity; absent for models without training. */
  version?: string;
  reason?: string;
};

/** A model with its versions. */
export type ModelVersions = {
  /** The version that is the current one where versions are stored. */
  current: string | null;
  /** Versions that cannot be read. */
  damaged: string[];
  /** As the configuration says. */
  kind: string;
  name: string;
  /** The version that the configuration names. */
  pinned: string | null;
  purpose: ModelPurpose;
  /** The newest version that its gate refused, unless one was trained since. It is not stored. */
  refused: GateRefusal | null;
  /** The version that answers here. */
  serving: string | null;
  /** From the oldest on. */
  versions: StoredVersion[];
};

/** All versions of all models. */
export type Models = {
  models: ModelVersions[];
};

/** The fields that `api.page.item` names. */
export type NamedItem = {
  image: unknown;
  price: unknown;
  title: unknown;
};

/** What the page calls items, by their ids. Items of which nothing is known are left out. */
export type NamedItems = {
  items: Record<string, NamedItem>;
};

/** What an order comes from. */
export type OrderKind = "model" | "shown" | "random";

/** The page for browsers. */
export type Page = {
  /** Why this process does not forget items and visitors, where it does not. */
  forgetUnavailable: string | null;
  /** Where pictures of items may come from. */
  imageOrigins: string[];
  /** Names of item fields that it shows. */
  item: PageItem | null;
  /** How many rank requests are kept of each model. */
  sample: number;
  /** Whether these show their visitors. */
  showIds: boolean;
  title: string;
  /** Whether ids, stored values and changes need the bearer token; if not, they are for clients on the same machine. */
  tokenNeeded: boolean;
  version: string;
};

export type PageItem = {
  image: string | null;
  price: string | null;
  title: string | null;
};

/** How far a service is. */
export type Phase = "starting" | "ready" | "draining";

/** A version that is the current one from now on. */
export type Promoted = {
  model: string;
  /** The version that the configuration names: it serves all the same. */
  pinned: string | null;
  /** The version that answers here now. It is another one where the configuration names one, or the current one does not work. */
  serving: string | null;
  version: string;
};

/** Items, best first. */
export type RankAnswer = {
  /** Why the items keep their incoming order. */
  fallback?: string;
  items: ScoredItem[];
  /** Milliseconds from the arrival of the request's head. */
  took: number;
  /** Why there are no contributions. */
  unexplained?: string;
};

/** The answer's body. */
export type RecommendAnswer = {
  /** Why another model answers, or none. */
  fallback?: string;
  items: Recommended[];
  /** Milliseconds. */
  took: number;
};

export type Recommended = {
  item: string;
  score: number;
};

/** A version that does not answer, because it did not work when it was tried. */
export type Refused = {
  /** Why. */
  reason: string;
  /** Which one. */
  version: string;
};

/** The newest rank requests. */
export type Requests = {
  /** The newest first, and behind them the lists that the last evaluation found worst. */
  requests: SampledRequest[];
};

export type RunningEvaluation = {
  /** In milliseconds since 1970. */
  began: number;
  compared: ComparedModels;
  /** How many rankings it has read. */
  rankings: number;
};

/** A rank request, and how it was answered. */
export type SampledRequest = {
  /** Why the items kept their incoming order. */
  fallback: string | null;
  items: number;
  model: string;
  /** What `POST /requests/{number}/rank/{model}` calls it. */
  number: number;
  /** Ids of the items that the visitor chose, where it is such a list: a click-through as a request, which was never asked for. */
  relevant: string[] | null;
  /** Its body. `user` and `session` are null, unless `api.page.showIds` is set. */
  request: Record<string, unknown>;
  /** When it came, in milliseconds since 1970. */
  time: number;
  /** Milliseconds. */
  took: number;
};

export type ScoredItem = {
  /** The rest of the score. */
  bias?: number;
  /** How much of the score each feature brings, with `explain=contributions`. */
  contributions?: Contribution[];
  /** With `explain`. */
  features?: FeatureValue[];
  item: string;
  score: number;
};

/** How a service is. Programs add parts of their own, such as `ingest` and `size`. */
export type Status = {
  /** Text models by name. */
  inference: Record<string, TextModelStatus>;
  /** By name. */
  models: Record<string, ModelStatus>;
  phase: Phase;
  store: StoreStatus;
  /** Why it is not ready, where it waits for something. */
  unready?: string;
  uptimeSeconds: number;
  version: string;
};

/** The state store. */
export type StoreStatus = {
  answers: boolean;
  /** On disk. */
  bytes: number | null;
  cache: CacheStatus | null;
  /** Whether what it holds outlives the process. */
  durable: boolean;
  /** Whether it was emptied while this process ran. */
  emptied?: boolean;
  /** Keys that hold values of features. */
  entities: number | null;
  /** Which import is live. */
  generation?: number;
  /** Of the state: another one means that it was emptied and begun again. */
  id?: string;
  problem: string | null;
  type: string;
};

/** What the state holds of an item or a visitor. */
export type StoredEntity = {
  /** What all of it takes in the state. */
  bytes: number;
  id: string;
  values: StoredValue[];
};

export type StoredValue = {
  /** Who reads it: names of features, `models.<name>`, `api.page`. */
  features: string[];
  /** A field, as `item.price`, or what is counted or kept. */
  name: string;
  /** When it changed last, in milliseconds since 1970. */
  time: number;
  /** Of ids of items that visitors chose: when each was, in the order of `value`, in milliseconds since 1970. */
  times?: number[];
  /** A field as it was sent, a count, or ids of items with the newest first. Of what is kept in another form its size. */
  value: unknown;
};

/** What is known of a version. */
export type StoredVersion = {
  bytes: number;
  /** How the metric of boosting went; null of models without, and of versions from before this was noted. */
  curve: LearningCurve | null;
  /** What it was trained on. */
  data: Data | null;
  /** Those with most gain first. */
  features: Gain[];
  /** Why its gate let it pass; null where it was published without one. */
  gate: GateDecision | null;
  /** On the test split. */
  metrics: Record<string, number | null>;
  /** The version in whose place it came. */
  replaced: string | null;
  settings: Record<string, string>;
  /** When it was trained, in milliseconds since 1970. */
  trained: number;
  trees: number;
  version: string;
};

/** What is told of one. */
export type TextModelStatus = {
  dim?: number;
  type: string;
};

/** What `POST /train` answers. */
export type TrainAnswer = {
  /** How much each feature contributes, in the order of the model's features. */
  features: FeatureGain[];
  /** All rounds of boosting. */
  iterations: Iteration[];
  /** Size of the model, as its booster writes it. */
  sizeBytes: number;
  /** What is wrong with the model, and what to look at; a sentence each. */
  warnings?: string[];
};

export type ValueBin = {
  /** The least value. */
  from: number;
  /** Of the items with a value. */
  share: number;
  /** The greatest one. */
  to: number;
};

/** How values are spread. */
export type ValueSpread = {
  /** Of amounts in rising order, of categories the most frequent first. Values outside of them are in none. */
  bins: ValueBin[];
  /** Share of items without a value. */
  missing: number;
};

/** One of them. */
export type WorstList = {
  /** Number of items. */
  items: number;
  /** Id of the ranking. */
  ranking: string;
  /** How many of them are relevant. */
  relevant: number;
  /** Value of the field that lists are told apart by. */
  segment?: string;
  /** The same of the order as it was shown. */
  shown: number | null;
  /** Whose it is. */
  tenant: string;
  /** When it was shown. */
  time: string;
  /** The first metric, of the model. */
  value: number | null;
};

/** The lists that a model ranks worst. */
export type WorstLists = {
  /** The worst first, by the first metric. */
  lists: WorstList[];
  /** Name of the model. */
  ranker: string;
};
