import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { PathGuard } from '../../../src/engine/host/path-guard.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

function makeGuard(maxHung = 2) {
  const clock = new FakeClock();
  const back: string[] = [];
  const guard = new PathGuard({ maxHung, clock, onBack: (path) => void back.push(path) });
  const calls: string[] = [];
  /** A call that returns at once, or never if it hangs. */
  const call = async (path: string, hangs?: Promise<void>): Promise<string> => {
    const result = guard
      .run(path, async () => {
        calls.push(path);
        await hangs;
        return 'answered';
      })
      .catch((error: unknown) => (error as Error).message);
    await nextTurn();
    await clock.advance(5000);
    return result;
  };
  return { guard, calls, call, back };
}

const never = new Promise<void>(() => undefined);
const hung = 'its file system does not answer';

test('a path that hangs is asked once, and again when its call has returned', async () => {
  const { calls, call, back } = makeGuard();
  let goOn = (): void => undefined;
  const hangs = new Promise<void>((resolve) => (goOn = resolve));
  expect([await call('/a', hangs), await call('/a'), await call('/b')]).toEqual([hung, hung, 'answered']);
  expect(calls).toEqual(['/a', '/b']);
  goOn();
  await nextTurn();
  expect([back, await call('/a')]).toEqual([['/a'], 'answered']);
});

test('paths on one mount hang together, those on the root mount do not', async () => {
  const { guard, calls, call } = makeGuard();
  guard.mountPoints = ['/', '/mnt'];
  expect(await call('/mnt/a', never)).toBe(hung);
  expect([await call('/mnt/b'), await call('/mnt'), await call('/mnt2')]).toEqual([hung, hung, 'answered']);
  expect(calls).toEqual(['/mnt/a', '/mnt2']);
});

test('once as many hang as may, only paths are tried that answered last', async () => {
  const { calls, call } = makeGuard();
  expect([await call('/good'), await call('/a', never), await call('/b', never)]).toEqual(['answered', hung, hung]);
  expect([await call('/c'), await call('/good')]).toEqual([hung, 'answered']);
  expect(calls).toEqual(['/good', '/a', '/b', '/good']);
});

test('an error of the file system is an answer', async () => {
  const { guard, call } = makeGuard(1);
  await expect(guard.run('/a', () => Promise.reject(new Error('ENOENT')))).rejects.toThrow('ENOENT');
  expect([await call('/b', never), await call('/a')]).toEqual([hung, 'answered']);
});
