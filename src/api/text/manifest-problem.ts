/** One thing wrong with a manifest. Lines and columns count from 1. */
export interface ManifestProblem {
  /** File path, URL or `<stdin>`. */
  origin: string;
  line?: number;
  column?: number;
  /** Field path as the API server writes it, such as `spec.containers[0].image`. */
  field?: string;
  message: string;
  /** How to fix it. */
  hint?: string;
  severity: 'error' | 'warning';
  /** Set in an entry that stands for so many problems. */
  notShown?: number;
  /**
   * When the revision that runs instead was read, because the manifest is bad or missing. Milliseconds since the epoch.
   */
  lastGoodAt?: number;
  /** The pods of that revision. */
  lastGoodPods?: { namespace: string; name: string; uid: string }[];
  /** The pod that another manifest, or another part of this one, has declared before. */
  repeatedPod?: { namespace: string; name: string };
}

/** Shortens a text of a manifest for a quote in a message. */
export function excerpt(text: string, maxLength = 60): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
