import type { ManagedContainerdOptions } from '../containerd/managed-containerd.ts';
import type { StoreSetAside } from '../containerd/set-aside-store.ts';
import { errorMessage } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** Logs that a damaged store was set aside, and calls `onReport` with a sentence for an event. */
export function reportSetAside(
  logger: Logger,
  onReport: (sentence: string) => void = () => undefined,
): NonNullable<ManagedContainerdOptions['onSetAside']> {
  return (store, damage) => {
    logger.warn(
      { err: errorMessage(damage), path: store.path },
      'The store of containerd is damaged; starting a new one',
    );
    logger.warn(describeSetAside(store));
    onReport(`The store of containerd was damaged and is replaced. ${describeSetAside(store)}`);
  };
}

/** Returns where the old store is and how large it is. */
export function describeSetAside({ path, bytes, isKept }: StoreSetAside): string {
  const size = `${Math.ceil(bytes / 1024 ** 2)} MiB`;
  return isKept
    ? `The old store (${size}) is in ${path}; delete it if you do not need it`
    : `The old store (${size}) was deleted, because the disk has no room for a second one`;
}
