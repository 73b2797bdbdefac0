import type { ManifestProblem } from '../../view/events.ts';

/** A larger manifest counts as a flood if it is bad. Most manifests are smaller. */
export const maxCheapBytes = 512 * 1024;

/** Tags of a body, for a conditional request. */
export interface Validators {
  etag?: string | undefined;
  lastModified?: string | undefined;
  /** Shown to operators, such as the id of a commit. Absent if the origin has no versions. */
  version?: string | undefined;
}

/** What is known of the newest body. */
export interface KnownBody {
  /** SHA-256, in hex. */
  digest: string;
  validators: Validators;
}

/** Filled in during a fetch, also if it fails. */
export interface FetchNotes {
  /** Problems that are not those of the answer. */
  warnings: ManifestProblem[];
  /** Length of the body. */
  bodyBytes: number;
}

/** Answer of an origin. */
export interface OriginAnswer {
  validators: Validators;
  /** Absent if the body is the known one. */
  news?: { body: Uint8Array; signature?: string | undefined };
}

/** Evidence for a body. */
export interface BodyEvidence {
  /** SHA-256 of the body, in hex. */
  digest: string;
  validators: Validators;
  /** As fetched; undefined if none is required. */
  signature: string | undefined;
  /** Time of the signature of the last used body, in seconds since the epoch; undefined if unknown. */
  lastSignedAtSeconds: number | undefined;
}

/** A place of manifests outside this machine's folders, such as a server or a registry. */
export interface ManifestOrigin {
  /** For display, and as the name of the source. Contains no secret. */
  readonly where: string;
  /** True if the body is several files, as `joinFiles` makes it. */
  readonly hasFiles?: boolean;
  /**
   * The parts of a request that select the body and are not in `where`, such as query and headers. Secret. Absent if
   * `where` has all parts.
   */
  selector?(): string;
  /**
   * Fetches the manifests, bounded in size and time. Rejects with an OriginFailure, or with any error if the signal is
   * aborted.
   */
  fetch(known: KnownBody | undefined, notes: FetchNotes, signal: AbortSignal): Promise<OriginAnswer>;
  /**
   * Throws an OriginFailure, or rejects with one, unless the body is trusted. Also called at a start, for the saved
   * body. Returns the time of the signature in seconds since the epoch, or undefined if the signature has none. Absent
   * if the origin itself is trusted.
   */
  trust?(body: Uint8Array, evidence: BodyEvidence): number | undefined | Promise<number | undefined>;
}
