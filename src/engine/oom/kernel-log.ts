import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { errorMessage, hasCode, UserError } from '../../errors.ts';

/** Messages of the kernel since a moment. */
export interface KernelLog {
  /** Returns the next messages, `maxRecords` at most. Never waits. Throws if the log is lost. */
  read(maxRecords: number): KernelMessages;
  close(): void;
}

export interface KernelMessages {
  /** Messages of the kernel itself, oldest first. Those that programs wrote into the log are left out. */
  messages: string[];
  /** True if nothing more is there now. */
  isAtEnd: boolean;
}

/** Device number of /dev/kmsg. See devices.txt of the kernel. */
const kmsgDevice = (1 << 8) | 11;
/** Longest record that the kernel gives. kernel: printk.h PRINTK_MESSAGE_MAX */
const maxRecordBytes = 8192;

/**
 * Opens the kernel's log at its oldest message. Throws a `UserError` if this process may not read it. The caller closes
 * it. kubelet: oom/oom_watcher_linux.go NewWatcher
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

/** The log behind a device that gives one record a read. */
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
          // The kernel dropped records that were not read in time. The next read gives the oldest that is left.
          else if (!hasCode(error, 'EPIPE')) throw error;
        }
      }
      return found;
    },
    close: device.close,
  };
}

/**
 * The text of a record. Returns undefined if a program wrote it: the kernel gives such records a facility other than 0.
 * kernel: Documentation/ABI/testing/dev-kmsg
 */
function kernelMessage(record: string): string | undefined {
  // Lines after the first are facts about a device.
  const [, priority = '', text = ''] = /^(\d+),[^;\n]*;([^\n]*)/.exec(record) ?? [];
  const isOfKernel = priority !== '' && Number(priority) >> 3 === 0;
  return isOfKernel ? text : undefined;
}
