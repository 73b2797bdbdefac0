/**
 * Returns the power of `size` with which costs grow, by least squares on their logarithms: 1 is linear, 2 quadratic.
 * Ignores points without a positive cost. Returns NaN for fewer than two points.
 */
export function growthPower(points: readonly { size: number; cost: number }[]): number {
  const logs = points
    .filter(({ cost }) => cost > 0)
    .map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }));
  const meanX = mean(logs.map(({ x }) => x));
  const meanY = mean(logs.map(({ y }) => y));
  const spread = logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  return logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0) / spread;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
