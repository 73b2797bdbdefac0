import type { ImageServiceDefinition } from './generated/cri.ts';
import type { Service } from './service.ts';

/** CRI v1 ImageService. */
export type ImageService = Service<ImageServiceDefinition>;
