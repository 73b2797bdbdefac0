import type { ContainerConfig } from '../../cri/types.ts';

type Signal = NonNullable<ContainerConfig['stopSignal']>;

/** The CRI's word for a valid name of a signal, such as `SIGUSR1` or `SIGRTMIN+3`. */
export function stopSignalOf(name: string): Signal {
  return name.replace('+', 'PLUS').replace('-', 'MINUS') as Signal;
}

/** Returns undefined if the runtime does not report which signal stops the container. */
export function stopSignalName(signal: Signal): string | undefined {
  if (!signal.startsWith('SIG')) return undefined;
  return signal.replace('PLUS', '+').replace('MINUS', '-');
}
