import { constants, inflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import {
  dataFrame,
  HeaderBlockWriter,
  pingFrame,
  resetFrame,
  SpdyFrameReader,
  synStreamFrame,
  type SpdyFrame,
} from '../../../src/cri/streaming/spdy-frames.ts';

const settingsFrame = Buffer.of(0x80, 3, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0);

function joined(frames: readonly SpdyFrame[]): SpdyFrame[] {
  const result: SpdyFrame[] = [];
  for (const frame of frames) {
    const latest = result.at(-1);
    if (frame.type === 'data' && latest?.type === 'data' && latest.streamID === frame.streamID && !latest.fin) {
      result.splice(-1, 1, { ...frame, bytes: Buffer.concat([latest.bytes, frame.bytes]) });
    } else result.push(frame);
  }
  return result;
}

describe('SpdyFrameReader', () => {
  test.each([1, 2, 7, 8, 9, 1000])('reads frames that arrive in chunks of %i bytes', (size) => {
    const bytes = Buffer.concat([
      synStreamFrame(2, Buffer.from('headers')),
      dataFrame(5, Buffer.from('some bytes')),
      settingsFrame,
      pingFrame(4),
      dataFrame(7, Buffer.from('last'), true),
      resetFrame(5, 3),
    ]);
    const reader = new SpdyFrameReader();
    const frames: SpdyFrame[] = [];
    for (let start = 0; start < bytes.length; start += size) {
      frames.push(...reader.read(bytes.subarray(start, start + size)));
    }
    expect(joined(frames)).toEqual([
      { type: 'synStream', streamID: 2, fin: false },
      { type: 'data', streamID: 5, bytes: Buffer.from('some bytes'), fin: false },
      { type: 'ping', id: 4 },
      { type: 'data', streamID: 7, bytes: Buffer.from('last'), fin: true },
      { type: 'reset', streamID: 5, fin: false },
    ]);
  });

  test('hands out the start of a data frame before its rest is there', () => {
    const frame = dataFrame(1, Buffer.alloc(100), true);
    expect(new SpdyFrameReader().read(frame.subarray(0, 58))).toEqual([
      { type: 'data', streamID: 1, bytes: Buffer.alloc(50), fin: false },
    ]);
  });

  test('reads an empty frame that only ends a stream', () => {
    expect(new SpdyFrameReader().read(dataFrame(3, Buffer.alloc(0), true))).toEqual([
      { type: 'data', streamID: 3, bytes: Buffer.alloc(0), fin: true },
    ]);
  });

  test('refuses what is not SPDY/3', () => {
    expect(() => new SpdyFrameReader().read(Buffer.from([0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]))).toThrow(
      'the streaming server sent something other than SPDY/3.1',
    );
  });
});

test('header blocks of a connection are one zlib stream, each readable when it arrives', () => {
  const writer = new HeaderBlockWriter();
  const first = writer.write({ streamType: 'error' });
  const second = writer.write({ a: 'b', c: 'dé' });
  const inflate = (...blocks: Buffer[]): string =>
    inflateSync(Buffer.concat(blocks), { finishFlush: constants.Z_SYNC_FLUSH }).toString();
  const firstText = '\0\0\0\x01\0\0\0\x0astreamtype\0\0\0\x05error';
  expect(inflate(first)).toBe(firstText);
  expect(inflate(first, second)).toBe(`${firstText}\0\0\0\x02\0\0\0\x01a\0\0\0\x01b\0\0\0\x01c\0\0\0\x03dé`);
});
