/** One thing wrong with a manifest. Lines and columns count from 1. */
export interface ManifestProblem {
  /** File path, URL or `<stdin>`. */
  origin: string;
  line?: number;
  column?: number;
  /** Field path as the API server writes it, such as `spec.containers[0].image`. */
  field?: string;
  message: string;
  /** What to do about it. */
  hint?: string;
  severity: 'error' | 'warning';
  /** The manifest is bad or away, and an earlier revision of it runs: when that was read; milliseconds since the epoch. */
  lastGoodAt?: number;
  /** The pods of that revision. */
  lastGoodPods?: { namespace: string; name: string; uid: string }[];
}

/** A text of a manifest as a message may quote it: its first characters when it is long. */
export function excerpt(text: string, maxLength = 60): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
