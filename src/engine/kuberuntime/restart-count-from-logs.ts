const MAX_INT64 = 2n ** 63n - 1n;

/**
 * Restart count to go on with when the runtime forgot a container: one more than the highest number among the names of
 * the files in its log directory, rotated ones included; 0 when there is none. Undefined: a name holds a number that is
 * too large to count. kubelet: kuberuntime_container.go calcRestartCountByLogDir
 */
export function restartCountFromLogFiles(fileNames: readonly string[]): number | undefined {
  let restartCount = 0;
  for (const fileName of fileNames) {
    const [, digits] = /^(\d+)\.log/.exec(fileName) ?? [];
    if (digits === undefined) continue;
    if (BigInt(digits) > MAX_INT64) return undefined;
    restartCount = Math.max(restartCount, Number(digits) + 1);
  }
  return restartCount;
}
