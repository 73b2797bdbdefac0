/**
 * Resolves with all results once every work has ended. Then rejects with the first error in the order of the works. So
 * no work continues after the caller has moved on.
 */
export async function settleAll<Works extends readonly unknown[]>(
  works: readonly [...Works],
): Promise<{ -readonly [Index in keyof Works]: Awaited<Works[Index]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
