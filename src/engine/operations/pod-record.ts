import { createHash } from 'node:crypto';
import type { Pod } from '../../api/types.ts';
import { writtenAnnotations } from '../../api/values/config-annotations.ts';

/** A revision of a pod's manifest that was accepted. */
export interface PodRevision {
  /** Counts from 1; a later revision has a higher number. */
  number: number;
  /** Hash of its content. */
  name: string;
  /** Milliseconds since the epoch. */
  takenAt: number;
  /** File or URL of its manifest, or the folder or list that contains it. */
  from: string;
  /** True if the UID is derived from the content of the manifest. */
  isDerivedUID: boolean;
  /** True once a pod of this revision was Ready. */
  wasReady: boolean;
  /** As its source declared it. */
  pod: Pod;
}

/** A revision that runs although the manifest declares another one. */
export interface Pin {
  /** Number of the revision that runs. */
  to: number;
  /** Name of the declared revision that it replaces. Absent if it stays until `unhold`. */
  whileDeclared?: string;
  /** Why it runs, as a sentence without a full stop. */
  because: string;
}

/** What operators requested for one declared pod, and its revisions. */
export interface PodRecord {
  version: 1;
  namespace: string;
  name: string;
  /** Number of the revision that is running or starting. */
  current: number;
  /** Oldest first. */
  revisions: PodRevision[];
  pin?: Pin;
  /** Name of the declared revision that the pod runs although its workload does not update it. */
  accepts?: string;
  isStopped?: boolean;
  /** Ids of containers that must restart. */
  restart?: string[];
}

/** How many revisions of a pod are kept. */
const maxRevisions = 10;

/** Returns the hash of a manifest's content, without the UID, the status and the kubelet's own annotations. */
export function revisionName({ metadata: { uid: _uid, annotations, ...metadata }, spec }: Pod): string {
  const content = JSON.stringify({ metadata: { ...metadata, annotations: writtenAnnotations(annotations) }, spec });
  return createHash('sha256').update(content).digest('hex').slice(0, 32);
}

/** Returns the record of a pod without any revision. */
export function emptyRecord({ namespace, name }: Pick<PodRecord, 'namespace' | 'name'>): PodRecord {
  return { version: 1, namespace, name, current: 0, revisions: [] };
}

/**
 * Returns the record with this revision as its current one. A known revision keeps its content and gets a new number.
 */
export function withRevision(record: PodRecord, taken: Omit<PodRevision, 'number' | 'wasReady'>): PodRecord {
  const rest = withoutPin(withoutAccepted(record));
  const known = record.revisions.find(({ name }) => name === taken.name);
  const number = Math.max(0, ...record.revisions.map((revision) => revision.number)) + 1;
  const others = record.revisions.filter((revision) => revision !== known);
  const next = { ...taken, number, wasReady: known?.wasReady ?? false };
  return { ...rest, current: number, revisions: bounded([...others, next]) };
}

/** Returns the record without its pin, so that the pod follows its manifest again. */
export function withoutPin({ pin: _pin, ...rest }: PodRecord): PodRecord {
  return rest;
}

function withoutAccepted({ accepts: _accepts, ...rest }: PodRecord): PodRecord {
  return rest;
}

/** Drops the oldest revisions, except the last one that was Ready. */
function bounded(revisions: readonly PodRevision[]): PodRevision[] {
  const lastReady = revisions.findLast(({ wasReady }) => wasReady);
  const surplus = revisions.length - maxRevisions;
  const dropped = revisions.filter((revision) => revision !== lastReady).slice(0, Math.max(0, surplus));
  return revisions.filter((revision) => !dropped.includes(revision));
}

/**
 * Shrinks the record until its JSON has at most `maxBytes`. Drops the oldest revisions first, then the last one that
 * was Ready, and finally the running one, because its manifest still has it. Returns the same record if it already
 * fits.
 */
export function fitted(record: PodRecord, maxBytes: number): PodRecord {
  let bytes = jsonBytes(record);
  if (bytes <= maxBytes) return record;
  const { revisions, current, pin } = record;
  const lastReady = revisions.findLast(({ wasReady }) => wasReady);
  const rank = (one: PodRevision): number =>
    Number(one === lastReady) + 2 * Number(one.number === pin?.to || one.number === current);
  const dropped = new Set<PodRevision>();
  for (const revision of revisions.toSorted((a, b) => rank(a) - rank(b))) {
    if (bytes <= maxBytes) break;
    dropped.add(revision);
    bytes -= jsonBytes(revision);
  }
  return { ...record, revisions: revisions.filter((revision) => !dropped.has(revision)) };
}

const jsonBytes = (value: object): number => Buffer.byteLength(JSON.stringify(value));

/** Returns the revision that is running or starting. Returns undefined for a pod without any revision. */
export function currentRevision({ revisions, current }: PodRecord): PodRevision | undefined {
  return revisions.find(({ number }) => number === current);
}

/** Throws if the text is not a record that this release understands. */
export function parseRecord(text: string): PodRecord {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('it is not a record of this release');
  return value;
}

function isRecord(value: unknown): value is PodRecord {
  const record = Object(value) as Partial<Record<keyof PodRecord, unknown>>;
  return (
    record.version === 1 &&
    typeof record.namespace === 'string' &&
    typeof record.name === 'string' &&
    Number.isInteger(record.current) &&
    Array.isArray(record.revisions) &&
    record.revisions.every(isRevision) &&
    (record.pin === undefined || isPin(record.pin)) &&
    (record.accepts === undefined || typeof record.accepts === 'string') &&
    (record.restart === undefined || isTexts(record.restart))
  );
}

function isRevision(value: unknown): boolean {
  const { number, name, takenAt, pod } = Object(value) as Partial<Record<keyof PodRevision, unknown>>;
  const { metadata, spec } = Object(pod) as Partial<Record<keyof Pod, unknown>>;
  const { containers } = Object(spec) as { containers?: unknown };
  const { uid } = Object(metadata) as { uid?: unknown };
  const isPod = typeof uid === 'string' && Array.isArray(containers);
  return Number.isInteger(number) && typeof name === 'string' && typeof takenAt === 'number' && isPod;
}

function isPin(value: unknown): boolean {
  const { to, because } = Object(value) as Partial<Record<keyof Pin, unknown>>;
  return Number.isInteger(to) && typeof because === 'string';
}

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((text) => typeof text === 'string');
