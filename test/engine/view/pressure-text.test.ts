import { expect, test } from 'vitest';
import { pressureText } from '../../../src/engine/view/pressure-text.ts';

test('a pressure is shown with its age and its cause', () => {
  const pressure = { type: 'DiskPressure', since: 1000, message: 'nodefs.available is 60Mi, threshold 100Mi' } as const;
  expect(pressureText(pressure, 301_000)).toBe('DiskPressure for 5m: nodefs.available is 60Mi, threshold 100Mi');
  expect(pressureText(pressure, 0)).toBe('DiskPressure for 0s: nodefs.available is 60Mi, threshold 100Mi');
});
