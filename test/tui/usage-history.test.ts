import { expect, test } from 'vitest';
import { cpuText, memoryText, nextUsages, sparkline, type UsageHistories } from '../../src/tui/usage-history.ts';

test('a sparkline has a bar for each value, from zero to the largest', () => {
  expect([sparkline([]), sparkline([0, 0]), sparkline([0, 5, 10]), sparkline([7])]).toEqual(['', '▁▁', '▁▅█', '█']);
});

test('eight samples of each pod are kept, and none of a pod that was removed', () => {
  let histories: UsageHistories = nextUsages({}, [{ uid: 'gone', nanoCores: 1 }]);
  for (let sample = 0; sample <= 8; sample += 1) {
    histories = nextUsages(histories, [{ uid: 'web', nanoCores: sample * 1e6, memoryBytes: 3 * 1024 ** 2 }]);
  }
  expect(histories).toEqual({
    web: {
      nanoCores: [1, 2, 3, 4, 5, 6, 7, 8].map((sample) => sample * 1e6),
      memoryBytes: Array(8).fill(3 * 1024 ** 2),
    },
  });
});

test('the cells have the newest figure, and are empty without one', () => {
  const history = { nanoCores: [1e6, 2.5e6], memoryBytes: [] };
  expect([cpuText(history), memoryText(history)]).toEqual(['    3m ▄█', '']);
});
