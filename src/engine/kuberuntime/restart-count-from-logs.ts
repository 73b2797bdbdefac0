const MAX_INT64 = 2n ** 63n - 1n;

/**
 * The next restart count if the runtime lost a container: one more than the highest number among its log files,
 * including rotated ones. Returns 0 if there is none, and undefined if a number is too large. kubelet:
 * kuberuntime_container.go calcRestartCountByLogDir
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
