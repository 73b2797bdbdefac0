import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { errorMessage, hasCode, UserError } from '../../errors.ts';

/** The kernel's messages from some point on. */
export interface KernelLog {
  /** Returns the next messages, `maxRecords` at most. Never waits. Throws if the log cannot be read any more. */
  read(maxRecords: number): KernelMessages;
  close(): void;
}

export interface KernelMessages {
  /** Messages of the kernel itself, oldest first. Leaves out those that programs wrote into the log. */
  messages: string[];
  /** True if there are no more messages now. */
  isAtEnd: boolean;
}

/** Device number of /dev/kmsg. See devices.txt of the kernel. */
const kmsgDevice = (1 << 8) | 11;
/** Longest record that the kernel returns. kernel: printk.h PRINTK_MESSAGE_MAX */
const maxRecordBytes = 8192;

/**
 * Opens the kernel's log at its oldest message. Throws a `UserError` if this process may not read it. The caller must
 * close it. kubelet: oom/oom_watcher_linux.go NewWatcher
 */
export function openKernelLog(path = '/dev/kmsg'): KernelLog {
  let fd: number;
  try {
    // Reads of this device do not block, so they need no thread.
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (cause) {
    throw new UserError(`the log of the kernel cannot be read: ${errorMessage(cause)}`, {
      hint: `It needs ${path} and CAP_SYSLOG.`,
      cause,
    });
  }
  if (fstatSync(fd).rdev !== kmsgDevice) {
    closeSync(fd);
    throw new UserError(`${path} is not the log of the kernel`);
  }
  return kernelLog({
    read: (buffer) => readSync(fd, buffer),
    close: () => {
      closeSync(fd);
    },
  });
}

/** Reads the log from a device that returns one record per read. */
export function kernelLog(device: { read: (buffer: Buffer) => number; close: () => void }): KernelLog {
  const buffer = Buffer.alloc(maxRecordBytes);
  return {
    read(maxRecords) {
      const found: KernelMessages = { messages: [], isAtEnd: false };
      for (let records = 0; records < maxRecords && !found.isAtEnd; records++) {
        try {
          const length = device.read(buffer);
          const message = kernelMessage(buffer.toString('latin1', 0, length));
          if (message !== undefined) found.messages.push(message);
          found.isAtEnd = length === 0;
        } catch (error) {
          if (hasCode(error, 'EAGAIN')) found.isAtEnd = true;
          // The kernel dropped records that were not read in time. The next read returns the oldest that is left.
          else if (!hasCode(error, 'EPIPE')) throw error;
        }
      }
      return found;
    },
    close: device.close,
  };
}

/**
 * Returns the text of a record. Returns undefined if a program wrote it: its facility is not 0 then. kernel:
 * Documentation/ABI/testing/dev-kmsg
 */
function kernelMessage(record: string): string | undefined {
  // Later lines describe a device.
  const [, priority = '', text = ''] = /^(\d+),[^;\n]*;([^\n]*)/.exec(record) ?? [];
  const isOfKernel = priority !== '' && Number(priority) >> 3 === 0;
  return isOfKernel ? text : undefined;
}
