import type { ManifestProblem } from '../../view/events.ts';

/** A bad manifest larger than this counts as a flood. Most manifests are smaller. */
export const maxCheapBytes = 512 * 1024;

/** Tags of a body, for a conditional request. */
export interface Validators {
  etag?: string | undefined;
  lastModified?: string | undefined;
  /** Shown to operators, such as the id of a commit. Absent if the origin has no versions. */
  version?: string | undefined;
}

/** What is known about the newest body. */
export interface KnownBody {
  /** SHA-256, in hex. */
  digest: string;
  validators: Validators;
}

/** Filled in during a fetch, even if it fails. */
export interface FetchReport {
  /** Problems that do not concern the answer. */
  warnings: ManifestProblem[];
  /** Length of the body. */
  bodyBytes: number;
}

/** Answer of an origin. */
export interface OriginAnswer {
  validators: Validators;
  /** Absent if the body is unchanged. */
  content?: { body: Uint8Array; signature?: string | undefined };
}

/** Evidence for a body. */
export interface BodyEvidence {
  /** SHA-256 of the body, in hex. */
  digest: string;
  validators: Validators;
  /** As fetched; undefined if none is required. */
  signature: string | undefined;
  /** When the last used body was signed, in seconds since the epoch; undefined if unknown. */
  lastSignedAtSeconds: number | undefined;
}

/** Somewhere outside this machine's folders that has manifests, such as a server or a registry. */
export interface ManifestOrigin {
  /** For display, and as the name of the source. Contains no secret. */
  readonly where: string;
  /** True if the body is several files that `joinFiles` joined. */
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
  fetch(known: KnownBody | undefined, notes: FetchReport, signal: AbortSignal): Promise<OriginAnswer>;
  /**
   * Throws an OriginFailure, or rejects with one, unless the body is trusted. Also called at startup, for the saved
   * body. Returns the signature's time in seconds since the epoch, or undefined if it has none. Absent if the origin
   * itself is trusted.
   */
  trust?(body: Uint8Array, evidence: BodyEvidence): number | undefined | Promise<number | undefined>;
}
