// What the service answers, as the page calls it. answers.ts is written from /openapi.json; by hand is what that does not describe.

import type * as answers from "./answers";
import type { ComparedModels, EvaluationReport, SampledRequest } from "./answers";

export type {
  ComparedModels as Compared,
  Configuration,
  EvaluatedFigure as Figure,
  EvaluatedScore as Score,
  EvaluationReport as Report,
  FeatureColumn,
  Forgotten,
  ModelFeatures,
  ModelPurpose,
  ModelStatus,
  ModelVersions as Model,
  Page,
  Promoted,
  RankAnswer,
  RecommendAnswer,
  ScoredItem as Scored,
  StoredEntity as Stored,
  StoredVersion as ModelVersion,
  TrainAnswer,
  ValueSpread,
  WorstList,
  ColumnValues as Values,
} from "./answers";

export interface Field {
  name: string;
  value: unknown;
}

/** A body of `POST /rank/{model}`, as the page writes and shows it. */
export interface RankRequest {
  id: string;
  timestamp: string | number;
  tenant?: string | null;
  user?: string | null;
  session?: string | null;
  fields?: Field[] | null;
  items: { id: string; fields?: Field[] | null }[];
}

export type Sampled = Omit<SampledRequest, "request"> & { request: RankRequest };

/** An evaluation that has ended has its report. */
export type Evaluations = Omit<answers.Evaluations, "last"> & {
  last: { compared: ComparedModels; began: number; ended: number; problem: string | null; report: EvaluationReport | null } | null;
};

/** What the page makes of the fields of an item: texts. */
export interface ItemFields {
  title: string | null;
  price: string | null;
  image: string | null;
}

/** With the parts that programs add to it. A program that waits says less. */
export type Status = Omit<answers.Status, "phase"> & {
  phase: answers.Phase | "waiting";
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
};

export interface Task {
  kind: "import" | "training";
  model: string | null;
  began: number;
  /** That an import has read so far. */
  events: number | null;
}
