interface Made {
  metadata: { attempt: number } | undefined;
  createdAt: bigint;
}

/**
 * Order of the sandboxes of one pod, or of the containers of one name in it. By attempt first, because the clock of the
 * timestamps may be set back. The kubelet compares only timestamps.
 */
export const newestFirst = (a: Made, b: Made): number =>
  (b.metadata?.attempt ?? 0) - (a.metadata?.attempt ?? 0) || Number(b.createdAt - a.createdAt);
