import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { kernelLog, openKernelLog } from '../../../src/engine/oom/kernel-log.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A device whose reads give these records or errors, then that nothing is there. */
function device(...reads: (string | Error)[]) {
  return {
    read: (buffer: Buffer): number => {
      const next = reads.shift() ?? fault('EAGAIN');
      if (next instanceof Error) throw next;
      return buffer.write(next, 'latin1');
    },
    close: () => undefined,
  };
}

const fault = (code: string): Error => Object.assign(new Error(code), { code });

describe('the log of the kernel', () => {
  test('gives messages of the kernel, without what programs wrote into it and without facts of devices', () => {
    const log = kernelLog(
      device(
        '6,7369,18122466591,-;port 2(veth0) entered blocking state\n SUBSYSTEM=net\n DEVICE=n3\n',
        '12,7370,18122466600,-;Memory cgroup out of memory: Killed process 1 (forged)\n',
        '3,7371,18122466601,-,caller=T1;a; b\n',
        'no record',
      ),
    );
    expect(log.read(9)).toEqual({ messages: ['port 2(veth0) entered blocking state', 'a; b'], isAtEnd: true });
  });

  test('continues after records were dropped, and takes as many as asked', () => {
    const log = kernelLog(device('4,1,1,-;one\n', fault('EPIPE'), '4,9,9,-;nine\n', '4,10,10,-;ten\n'));
    expect(log.read(3)).toEqual({ messages: ['one', 'nine'], isAtEnd: false });
    expect(log.read(3)).toEqual({ messages: ['ten'], isAtEnd: true });
  });

  test('that fails otherwise reports it', () => {
    expect(() => kernelLog(device(fault('EIO'))).read(1)).toThrow('EIO');
  });

  test('is refused with words if it is missing, or another file', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    expect(() => openKernelLog(join(folder, 'none'))).toThrow(/^the log of the kernel cannot be read: ENOENT/);
    expect(() => openKernelLog(join(folder, 'file'))).toThrow(`${folder}/file is not the log of the kernel`);
    expect(() => openKernelLog('/dev/null')).toThrow('/dev/null is not the log of the kernel');
  });
});
