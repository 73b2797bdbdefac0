import type { ContainerEndNews } from '../container/container-ends.ts';

/** Something happened to a container or sandbox. */
export interface RuntimeEvent {
  /** Of the container or sandbox. */
  id: string;
  type: 'exited' | 'removed' | 'changed';
  /** Absent: the stream does not say whose it is. */
  podUID?: string;
  /** How it exited, of a stream that knows that before the listings do. */
  end?: ContainerEndNews;
}

/** A way to be told what happens in the runtime. */
export interface RuntimeEventStream {
  /** For people: `CRI` or `containerd`. */
  readonly name: string;
  /**
   * What happens from now on. Ends or throws when the stream is lost; throws an error that `isUnimplemented` knows when
   * the runtime has no such stream.
   */
  events(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}
