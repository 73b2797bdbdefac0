const maxInt64 = 2n ** 63n - 1n;

/**
 * The next restart count if the runtime lost a container: the highest number among its log files plus one, including
 * rotated files. Returns 0 without log files. Ignores numbers beyond Go's int, which the kubelet cannot parse. kubelet:
 * kuberuntime_container.go calcRestartCountByLogDir
 */
export function restartCountFromLogFiles(fileNames: readonly string[]): number {
  let restartCount = 0;
  for (const fileName of fileNames) {
    const [, digits] = /^(\d+)\.log/.exec(fileName) ?? [];
    if (digits === undefined || BigInt(digits) >= maxInt64) continue;
    restartCount = Math.max(restartCount, Number(digits) + 1);
  }
  return restartCount;
}
