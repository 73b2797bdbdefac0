import { expect, onTestFinished, test, vi } from 'vitest';
import { uncaughtErrorText } from '../src/main.ts';

test('the trace of a bug is printed with KUBELET_TS_DEBUG=1, and not without it', () => {
  const bug = new TypeError('x is not a function');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(uncaughtErrorText(bug)).not.toMatch(/^ +at /m);
  vi.stubEnv('KUBELET_TS_DEBUG', '1');
  expect(uncaughtErrorText(bug)).toMatch(/^ +at .*main\.test\.ts/m);
});
