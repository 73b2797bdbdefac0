interface Created {
  metadata: { attempt: number } | undefined;
  createdAt: bigint;
}

/**
 * Sorts the sandboxes of one pod, or the containers in it that have the same name. Compares attempts first, because the
 * clock behind the timestamps may be set back. The kubelet compares only timestamps of containers.
 */
export const newestFirst = (a: Created, b: Created): number =>
  (b.metadata?.attempt ?? 0) - (a.metadata?.attempt ?? 0) || Number(b.createdAt - a.createdAt);
