import packageJSON from '../../package.json' with { type: 'json' };

/** Version of this program, such as `0.1.0`. */
export const programVersion = packageJSON.version;
