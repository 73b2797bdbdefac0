import { expect, test } from 'vitest';
import { RpcError } from '../../src/errors.ts';

test('an error of the runtime has 4 KiB of what the runtime said', () => {
  const { message } = new RpcError('RunPodSandbox', 2, 'x'.repeat(5000));
  expect(message).toBe(`${'x'.repeat(4096)} … 904 bytes left out`);
});
