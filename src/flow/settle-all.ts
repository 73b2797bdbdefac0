/**
 * Waits until all tasks have finished. Then resolves to all results, or rejects with the error of the first failed task
 * in the list. So no task is still running after the caller has moved on.
 */
export async function settleAll<Works extends readonly unknown[]>(
  works: readonly [...Works],
): Promise<{ -readonly [Index in keyof Works]: Awaited<Works[Index]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
