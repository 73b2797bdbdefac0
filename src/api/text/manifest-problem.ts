/** One problem of a manifest. Lines and columns count from 1. */
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
  /** `note`: something that a node without a cluster can ignore. Only `validate` shows it. */
  severity: 'error' | 'warning' | 'note';
  /** Set in an entry that stands for this number of problems. */
  notShown?: number;
  /**
   * When the revision that runs instead was read, if the manifest is bad or missing. Milliseconds since the epoch.
   */
  lastGoodAt?: number;
  /** The pods of that revision. */
  lastGoodPods?: { namespace: string; name: string; uid: string }[];
  /** The pod that another manifest, or an earlier part of this one, has already declared. */
  repeatedPod?: { namespace: string; name: string };
}

/** The problems that every command reports: errors and warnings. */
export function withoutNotes(problems: readonly ManifestProblem[]): ManifestProblem[] {
  return problems.filter(({ severity }) => severity !== 'note');
}

/** Shortens text of a manifest for quoting in a message. */
export function excerpt(text: string, maxLength = 60): string {
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}
