/**
 * The power of `size` that costs grow with, by least squares through their logarithms: 1 is in proportion, 2 with the
 * square. Points without a cost above zero say nothing; NaN with fewer than two that do.
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
