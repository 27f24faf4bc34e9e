var o="nova-theme";function t(){try{let e=localStorage.getItem(o);return e==="light"||e==="dark"?e:void 0}catch{return}}var n=t();n!==void 0&&(document.documentElement.dataset.theme=n);
