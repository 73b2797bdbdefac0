import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameGuard, UnsafeFrames } from '../../src/cri/frame-guard.ts';
import { FakeClock } from '../fakes/fake-clock.ts';

const endHeaders = 4;
const headLength = 9;

function frame(type: number, flags: number, stream: number, length: number): Buffer {
  const bytes = Buffer.alloc(headLength + length, type);
  bytes.writeUIntBE(length, 0, 3);
  bytes.writeUInt8(type, 3);
  bytes.writeUInt8(flags, 4);
  bytes.writeUInt32BE(stream, 5);
  return bytes;
}

const length = fc.nat(40);
const stream = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const anyFrame = fc
  .tuple(fc.constantFrom(0, 2, 3, 4, 6, 7, 8), fc.nat(255), stream, length)
  .map((of) => ({ bytes: frame(...of), isBlock: false }));
const headerBlock = fc
  .tuple(stream, fc.array(length, { minLength: 1, maxLength: 4 }))
  .map(([id, lengths]) => ({
    bytes: Buffer.concat(
      lengths.map((of, index) => frame(index === 0 ? 1 : 9, index === lengths.length - 1 ? endHeaders : 0, id, of)),
    ),
    isBlock: true,
  }));
const units = fc.array(fc.oneof(anyFrame, headerBlock), { maxLength: 8 });

/** How many of the first bytes may be read. */
function readable(all: readonly { bytes: Buffer; isBlock: boolean }[], received: number): number {
  let at = 0;
  for (const { bytes, isBlock } of all) {
    const part = received - at;
    if (part < (isBlock ? bytes.length : headLength)) return at;
    if (part < bytes.length) return received;
    at += bytes.length;
  }
  return at;
}

test('frames pass as they come, and header blocks when they are whole', () => {
  fc.assert(
    fc.property(units, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1 }), (all, sizes) => {
      const sent = Buffer.concat(all.map(({ bytes }) => bytes));
      const guard = new FrameGuard();
      let passed = Buffer.alloc(0);
      for (let at = 0, turn = 0; at < sent.length; turn += 1) {
        const piece = sent.subarray(at, at + (sizes[turn % sizes.length] ?? 1));
        at += piece.length;
        passed = Buffer.concat([passed, ...guard.accept(piece)]);
        expect(passed).toEqual(sent.subarray(0, readable(all, at)));
      }
    }),
  );
});

test('extensions are left out', () => {
  const guard = new FrameGuard();
  const [before, extension, after] = [frame(4, 0, 0, 6), frame(10, 0, 0, 20), frame(0, 1, 1, 3)];
  expect(guard.accept(Buffer.concat([before, extension.subarray(0, 15)]))).toEqual([before]);
  expect(guard.accept(Buffer.concat([extension.subarray(15), frame(200, 0, 5, 0), after]))).toEqual([after]);
});

test('data come in parts of their own', () => {
  const guard = new FrameGuard();
  const [settings, ping, data] = [frame(4, 0, 0, 6), frame(6, 0, 0, 8), frame(0, 0, 1, 3)];
  const parts = guard.accept(Buffer.concat([settings, ping, data, data, ping.subarray(0, 4)]));
  expect(parts).toEqual([Buffer.concat([settings, ping]), Buffer.concat([data, data])]);
  expect(guard.accept(Buffer.concat([ping.subarray(4), data]))).toEqual([ping.subarray(0, 4), ping.subarray(4), data]);
});

const tooMany = new UnsafeFrames('the server sends too many frames without data');

test.each([
  ['pings', frame(6, 0, 0, 8)],
  ['extensions', frame(200, 0, 0, 16_000)],
  ['data of one byte', frame(0, 0, 1, 1)],
])('%s: 64 KiB besides data are allowed at once, then 16 KiB a second', async (_what, one) => {
  const clock = new FakeClock();
  const guard = new FrameGuard(clock);
  const overhead = one[3] === 0 ? headLength : one.length;
  const send = (bytes: number): void => {
    for (let count = 0; count < Math.floor(bytes / overhead); count += 1) guard.accept(one);
  };
  guard.accept(frame(4, 0, 0, 0));
  send(64 * 1024 - headLength);
  await clock.advance(3000);
  send(48 * 1024);
  // What is left is less than a frame.
  expect(() => guard.accept(Buffer.concat([one, one]))).toThrow(tooMany);
});

test('data are not limited by this', () => {
  const guard = new FrameGuard(new FakeClock());
  const data = frame(0, 0, 1, 16_000);
  for (let count = 0; count < 2000; count += 1) expect(Buffer.compare(Buffer.concat(guard.accept(data)), data)).toBe(0);
});

test('bytes of another protocol pass, so that they are an error at once', () => {
  const answer = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
  expect(new FrameGuard().accept(answer)).toEqual([answer]);
});

test.each([
  ['a pushed stream', [frame(5, endHeaders, 1, 4)], 'the server pushes a stream'],
  ['headers followed by data', [frame(1, 0, 1, 5), frame(0, 0, 1, 5)], 'the server broke off a header block'],
  ['headers followed by headers', [frame(1, 0, 1, 5), frame(1, 0, 1, 5)], 'the server broke off a header block'],
  ['headers continued elsewhere', [frame(1, 0, 1, 5), frame(9, 0, 3, 5)], 'the server broke off a header block'],
  ['a continuation of nothing', [frame(9, 0, 1, 5)], 'the server broke off a header block'],
  ['a continuation of what is whole', [frame(1, 4, 1, 5), frame(9, 0, 1, 5)], 'the server broke off a header block'],
  [
    'endless headers',
    Array(4)
      .fill(frame(1, 0, 1, 12_000))
      .map((one: Buffer, index) => (index === 0 ? one : frame(9, 0, 1, 12_000))),
    'the server sends too long headers',
  ],
  [
    'long headers that are announced',
    [frame(1, 4, 1, 2 ** 24 - 1).subarray(0, headLength)],
    'the server sends too long headers',
  ],
])('%s is refused', (_what, frames, why) => {
  const guard = new FrameGuard();
  expect(() => {
    for (const bytes of frames) guard.accept(bytes);
  }).toThrow(new UnsafeFrames(why));
});
