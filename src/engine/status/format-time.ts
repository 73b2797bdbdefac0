/** RFC 3339 in UTC with whole seconds, as the Kubernetes API writes times. `at` is in milliseconds since the epoch. */
export function formatTime(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z');
}
