import { join } from 'node:path';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    program: string;
  }
}

export const repository = join(import.meta.dirname, '../..');
export const cache = join(repository, '.cache');

/** The built program; see global-setup.ts. */
export const program = inject('program');

export const imagesFolder = join(cache, 'images');
export type ImageArchive = 'busybox.tar' | 'flock.tar' | 'etcd.tar' | 'control-plane.tar' | 'stand-ins.tar';
