/** A module of its own: the bundle can load a CommonJS library on demand only by way of one. */
export { request } from 'undici';
